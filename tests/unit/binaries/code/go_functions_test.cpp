// Tables of Go's runtime in each layout, built byte by byte.
#include "binaries/code/go_functions.hpp"

#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::go_functions_test {
namespace {

constexpr std::uint64_t table_address = 0x700000;
constexpr std::uint64_t text = code_at;

struct Entry {
    std::uint64_t begin = 0;  // after the text's start
    std::string name;
    bool in_assembly = false;
    bool recovers = false;
};

// As src/runtime/symtab.go has it; the magic number says since when.
struct Layout {
    std::uint32_t magic;
    std::size_t words, entry_bytes, name_at, deferreturn_at, flag_at;
    bool relative;
};
const Layout go116{0xfffffffa, 7, 8, 8, 16, 41, false};
const Layout go118{0xfffffff0, 8, 4, 4, 12, 37, true};
const Layout go120{0xfffffff1, 8, 4, 4, 12, 41, true};

template <typename Number>
void put(std::string& bytes, std::size_t at, Number value) {
    bytes.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
}

struct TableParts {
    std::uint64_t end = 0;  // of the last function
    std::uint64_t count_added = 0;
    std::optional<std::uint64_t> text_start = text;
};

std::string table_of(const Layout& layout, const std::vector<Entry>& entries,
                     const TableParts& parts) {
    std::string names, records;
    constexpr std::size_t record_bytes = 64, header_bytes = 128;
    const std::size_t list_bytes = layout.entry_bytes * (2 * entries.size() + 1);
    std::string list(list_bytes, '\0');
    const auto put_in_list = [&](std::size_t index, std::uint64_t value) {
        if (layout.entry_bytes == 4)
            put(list, 4 * index, static_cast<std::uint32_t>(value));
        else
            put(list, 8 * index, value);
    };
    const std::uint64_t base = layout.relative ? 0 : text;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        put_in_list(2 * i, base + entries[i].begin);
        put_in_list(2 * i + 1, list_bytes + records.size());
        std::string record(record_bytes, '\0');
        put(record, layout.name_at, static_cast<std::uint32_t>(names.size()));
        put(record, layout.deferreturn_at, std::uint32_t{entries[i].recovers ? 9U : 0U});
        record[layout.flag_at] = entries[i].in_assembly ? 4 : 3;
        names += entries[i].name + '\0';
        records += record;
    }
    put_in_list(2 * entries.size(), base + parts.end);
    std::string bytes(header_bytes, '\0');
    put(bytes, 0, layout.magic);
    bytes[6] = 1;
    bytes[7] = 8;
    const auto word = [&](std::size_t index, std::uint64_t value) {
        put(bytes, 8 + 8 * index, value);
    };
    word(0, entries.size() + parts.count_added);
    if (layout.relative) word(2, parts.text_start.value_or(0));
    word(layout.relative ? 3 : 2, header_bytes);
    word(layout.words - 1, header_bytes + names.size());
    return bytes + names + list + records;
}

const std::vector<Entry> two{{0, "main.main", false, true}, {0x40, "runtime.memmove", true}};

Result<std::vector<GoFunction>> read(const std::vector<TestSection>& sections) {
    TestFile file;
    file.sections = sections;
    TRY_ASSIGN(const ElfImage image, ElfImage::from_bytes(file.bytes(), "test file"));
    return read_go_functions(image);
}

Result<std::vector<GoFunction>> read_table(const std::string& table,
                                           const std::string& section = ".gopclntab") {
    return read({{section, table, table_address, SHF_ALLOC}});
}

TEST(GoFunctionTable, IsReadInEachLayout) {
    for (const Layout& layout : {go116, go118, go120}) {
        const auto functions = read_table(table_of(layout, two, {.end = 0x50}));
        ASSERT_TRUE(functions) << functions.error().message;
        ASSERT_EQ(functions->size(), 2U);
        EXPECT_EQ((*functions)[0].name, "main.main");
        EXPECT_EQ((*functions)[0].address, text);
        EXPECT_EQ((*functions)[0].size, 0x40U);
        EXPECT_FALSE((*functions)[0].in_assembly);
        EXPECT_TRUE((*functions)[0].is_left_by_recovery);
        EXPECT_EQ((*functions)[1].name, "runtime.memmove");
        EXPECT_EQ((*functions)[1].address, text + 0x40);
        EXPECT_EQ((*functions)[1].size, 0x10U);
        EXPECT_TRUE((*functions)[1].in_assembly);
        EXPECT_FALSE((*functions)[1].is_left_by_recovery);
    }
}

TEST(GoFunctionTable, MayBeAmongOtherData) {
    const std::string table = table_of(go120, two, {.end = 0x50});
    EXPECT_TRUE(read_table(table, ".data.rel.ro.gopclntab"));
    const auto among = read_table(std::string(24, '\x11') + table, ".data.rel.ro");
    ASSERT_TRUE(among) << among.error().message;
    EXPECT_EQ(among->size(), 2U);
    EXPECT_EQ(read_table(std::string(24, '\x11') + table, ".gopclntab").error().kind,
              ErrorKind::Unsupported);
    EXPECT_EQ(read_table(std::string(4, '\x11') + table, ".data.rel.ro").error().message,
              "test file: has no Go function table")
        << "it is aligned";
    EXPECT_EQ(read_table(table, ".rodata").error().kind, ErrorKind::Unsupported);
}

TEST(GoFunctionTable, SortsFunctionsAndRepeatsNone) {
    const auto functions = read_table(
        table_of(go120, {{0x20, "b"}, {0x20, "c"}, {0x40, "d"}, {0x40, "e"}}, {.end = 0x50}));
    ASSERT_TRUE(functions) << functions.error().message;
    ASSERT_EQ(functions->size(), 2U);
    EXPECT_EQ((*functions)[0].name, "b");
    EXPECT_EQ((*functions)[0].size, 0U);
    EXPECT_EQ((*functions)[1].name, "d");
}

TEST(GoFunctionTable, FindsWhereTheCodeBegins) {
    const std::string table = table_of(go120, two, {.end = 0x50, .text_start = std::nullopt});
    const TestSection own{".gopclntab", table, table_address, SHF_ALLOC};
    const TestSection code{".text", std::string(16, '\x90'), 0x800000, SHF_ALLOC};
    const auto relocation = [](std::uint64_t place, std::uint32_t type) {
        return TestSection{
            ".rela.dyn",
            Bytes().u64(0x1234).u64(R_X86_64_RELATIVE).u64(7).u64(place).u64(type).u64(0x900000),
            0x500000, SHF_ALLOC};
    };
    const auto first_of = [](const std::vector<TestSection>& sections) {
        const auto functions = read(sections);
        return functions ? functions->front().address : 0;
    };
    EXPECT_EQ(first_of({own, code}), 0x800000U);
    EXPECT_EQ(first_of({own, code, relocation(table_address + 24, R_X86_64_RELATIVE)}), 0x900000U);
    EXPECT_EQ(first_of({own, code, relocation(table_address + 32, R_X86_64_RELATIVE)}), 0x800000U);
    EXPECT_EQ(first_of({own, code, relocation(table_address + 24, R_X86_64_64)}), 0x800000U);
    TestSection other_name = relocation(table_address + 24, R_X86_64_RELATIVE);
    other_name.name = ".rela";
    EXPECT_EQ(first_of({own, code, other_name}), 0x900000U);
    // With C code, Go's begins somewhere in the middle.
    const TestSection init{".init", std::string(16, '\x90'), 0x810000, SHF_ALLOC};
    for (const std::vector<TestSection>& sections :
         {std::vector<TestSection>{own}, std::vector<TestSection>{own, code, init}}) {
        const auto functions = read(sections);
        ASSERT_FALSE(functions);
        EXPECT_EQ(functions.error().kind, ErrorKind::Unsupported);
        EXPECT_EQ(functions.error().message, "test file: does not say where its Go code begins");
    }
    EXPECT_EQ(read_table(table_of(go116, {}, {.end = 0})).value().size(), 0U);
}

TEST(GoFunctionTable, SaysWhatIsDamaged) {
    const auto problem = [](const std::string& table) {
        const auto functions = read_table(table);
        return functions ? "" : functions.error().message;
    };
    const std::string whole = table_of(go120, two, {.end = 0x50});
    EXPECT_EQ(problem(whole.substr(0, 71)), "test file: damaged Go function table: it ends early");
    EXPECT_EQ(problem(table_of(go120, two, {.end = 0x50, .count_added = 100})),
              "test file: damaged Go function table: its list ends early");
    EXPECT_EQ(problem(table_of(go120, two, {.end = 0x50, .count_added = 4'000'000})),
              "test file: has more than 4 million Go functions");
    EXPECT_EQ(problem(table_of(go120, two, {.end = 0x30})),
              "test file: damaged Go function table: a function is outside it");
    Layout newer = go120;
    newer.magic = 0xfffffff2;
    EXPECT_EQ(problem(table_of(newer, two, {.end = 0x50})),
              "test file: its Go function table has an unknown version");
    // The last record is cut behind its flag, and before it.
    EXPECT_EQ(problem(whole.substr(0, whole.size() - 64 + 42)), "");
    EXPECT_EQ(problem(whole.substr(0, whole.size() - 64 + 41)),
              "test file: damaged Go function table: a function is outside it");
    EXPECT_EQ(read_table(whole.substr(0, 71)).error().kind, ErrorKind::Invalid);
}

TEST(GoFunctionTable, NamesHaveALimit) {
    const auto functions =
        read_table(table_of(go120, {{0, std::string(16'385, 'x')}}, {.end = 0x50}));
    ASSERT_TRUE(functions);
    EXPECT_EQ(functions->front().name.size(), 16'384U);
}

}  // namespace
}  // namespace lagtrap::binaries::test::go_functions_test
