// Symbol tables built byte by byte, and what is found in them.
#include "binaries/elf/function_symbols.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/symbol_table.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::function_symbols_test {
namespace {

using ::testing::ElementsAre;

struct MadeSymbol {
    std::string name;
    std::uint64_t offset = 0;  // from code_at
    std::uint64_t size = 0x10;
    unsigned binding = STB_GLOBAL;
    unsigned type = STT_FUNC;
    std::uint16_t section = 1;
};

// A file with these symbols in .symtab, and others in .dynsym.
TestFile file_of(const std::vector<MadeSymbol>& symbols,
                 const std::vector<MadeSymbol>& exported = {}) {
    TestFile file;
    for (const bool dynamic : {false, true}) {
        std::string names(1, '\0');
        Bytes table;
        for (const MadeSymbol& symbol : dynamic ? exported : symbols) {
            table.u32(names.size())
                .u8(symbol.binding << 4 | symbol.type)
                .u8(0)
                .u16(symbol.section)
                .u64(symbol.offset == 0 ? 0 : code_at + symbol.offset)
                .u64(symbol.size);
            names += symbol.name + '\0';
        }
        TestSection section;
        section.name = dynamic ? ".dynsym" : ".symtab";
        section.content = table;
        section.type = dynamic ? SHT_DYNSYM : SHT_SYMTAB;
        section.link = static_cast<std::uint32_t>(file.sections.size()) + 2;
        TestSection texts;
        texts.name = dynamic ? ".dynstr" : ".strtab";
        texts.content = names;
        texts.type = SHT_STRTAB;
        file.sections.push_back(section);
        file.sections.push_back(texts);
    }
    return file;
}

Result<std::vector<FunctionSymbol>> symbols_of(const TestFile& file) {
    TRY_ASSIGN(const ElfImage image, ElfImage::from_bytes(file.bytes(), "test file"));
    return function_symbols(image);
}

std::vector<std::string> names_of(const TestFile& file) {
    const auto found = symbols_of(file);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> names;
    for (const FunctionSymbol& symbol : found.value()) names.push_back(symbol.name);
    return names;
}

TEST(FunctionSymbols, HaveEachFact) {
    const auto found = symbols_of(file_of({{"local", 0x10, 7, STB_LOCAL},
                                           {"weak", 0x20, 0, STB_WEAK},
                                           {"global", 0x30, 9},
                                           {"resolver", 0x40, 9, STB_GLOBAL, STT_GNU_IFUNC}},
                                          {{"exported", 0x50, 5}}));
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 5U);
    const auto expect = [&](std::size_t number, const std::string& name, std::uint64_t offset,
                            std::uint64_t size, SymbolBinding binding) {
        const FunctionSymbol& symbol = (*found)[number];
        EXPECT_EQ(symbol.name, name);
        EXPECT_EQ(symbol.address, code_at + offset);
        EXPECT_EQ(symbol.size, size);
        EXPECT_EQ(symbol.binding, binding) << name;
        EXPECT_EQ(symbol.dynamic, name == "exported");
        EXPECT_EQ(symbol.indirect, name == "resolver");
    };
    expect(0, "local", 0x10, 7, SymbolBinding::Local);
    expect(1, "weak", 0x20, 0, SymbolBinding::Weak);
    expect(2, "global", 0x30, 9, SymbolBinding::Global);
    expect(3, "resolver", 0x40, 9, SymbolBinding::Global);
    expect(4, "exported", 0x50, 5, SymbolBinding::Global);
}

TEST(FunctionSymbols, AreDefinedFunctionsWithAName) {
    EXPECT_THAT(names_of(file_of({{"data", 0x10, 8, STB_GLOBAL, STT_OBJECT},
                                  {"none", 0x10, 8, STB_GLOBAL, STT_NOTYPE},
                                  {"undefined", 0x10, 8, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
                                  {"nowhere", 0},
                                  {"", 0x10},
                                  {"function", 0x10}})),
                ElementsAre("function"));
    TestFile beyond = file_of({{"first", 0x10}, {"second", 0x20}});
    beyond.sections[1].content.resize(7);  // ends after the first name
    EXPECT_THAT(names_of(beyond), ElementsAre("first"));
    beyond.sections[1].content.resize(6);  // ends within it
    EXPECT_THAT(names_of(beyond), ElementsAre());
    const std::string longest(16'384, 'x');
    EXPECT_THAT(names_of(file_of({{longest + "y", 0x10}, {longest, 0x20}})),
                ElementsAre(longest, longest));
}

TEST(FunctionSymbols, NeedTheirStringTable) {
    TestFile file = file_of({{"function", 0x10}});
    file.sections[0].link = 99;
    const auto found = symbols_of(file);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(found.error().message,
              "test file: damaged ELF file: .symtab names a missing string table");
}

TEST(FunctionSymbols, TakeMemoryOnlyWithinTheBudget) {
    const TestFile file = file_of({{"one", 0x10}, {"two", 0x20}});
    const auto image = ElfImage::from_bytes(file.bytes(), "test file");
    ASSERT_TRUE(image);
    ByteBudget enough(1000);
    EXPECT_TRUE(read_function_tables(*image, enough));
    const std::uint64_t used = 1000 - enough.left();
    EXPECT_GT(used, 0U);
    ByteBudget exactly(used);
    EXPECT_TRUE(read_function_tables(*image, exactly));
    ByteBudget less(used - 1);
    const auto refused = read_function_tables(*image, less);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(refused.error().message, "test file: its symbols take more memory than allowed");
}

// What a table says about places, by their offset from code_at: "name+3", empty if nothing.
class FoundSymbols : public ::testing::Test {
  protected:
    std::vector<std::string> at(const TestFile& file, const std::vector<std::uint64_t>& offsets) {
        const auto path = folder_.path() / "program";
        write(path, file.bytes());
        const auto table = SymbolTable::of_file(path);
        EXPECT_TRUE(table) << table.error().message;
        std::vector<std::string> texts;
        for (const std::uint64_t offset : offsets) {
            const auto hit = table->find(code_file_offset + offset);
            texts.push_back(hit ? std::string(hit->name) + "+" + std::to_string(hit->offset) : "");
        }
        return texts;
    }
    TemporaryFolder folder_;
};

TEST_F(FoundSymbols, EndWhereTheirSizeSays) {
    EXPECT_THAT(at(file_of({{"one", 0x20, 0x10}, {"two", 0x40, 0x10}}),
                   {0x1f, 0x20, 0x2f, 0x30, 0x40, 0x4f, 0x50}),
                ElementsAre("", "one+0", "one+15", "", "two+0", "two+15", ""));
}

TEST_F(FoundSymbols, WithoutASizeGoOnToTheNext) {
    EXPECT_THAT(at(file_of({{"one", 0x20, 0}, {"two", 0x40, 0x10}, {"last", 0x60, 0}}),
                   {0x20, 0x3f, 0x40, 0x50, 0x60, code_bytes - 1, code_bytes}),
                ElementsAre("one+0", "one+31", "two+0", "", "last+0",
                            "last+" + std::to_string(code_bytes - 1 - 0x60), ""));
}

TEST_F(FoundSymbols, OfAFunctionThatContainsAnotherGoOnAfterIt) {
    EXPECT_THAT(at(file_of({{"outer", 0x20, 0x40}, {"inner", 0x30, 0x10}, {"open", 0x50, 0}}),
                   {0x20, 0x2f, 0x30, 0x3f, 0x40, 0x4f, 0x50, 0x5f, 0x60}),
                ElementsAre("outer+0", "outer+15", "inner+0", "inner+15", "outer+32", "outer+47",
                            "open+0", "open+15", ""));
}

TEST_F(FoundSymbols, OfSeveralNamesHaveTheBestOne) {
    const auto best = [&](const std::vector<MadeSymbol>& symbols) {
        return at(file_of(symbols), {0x20}).at(0);
    };
    EXPECT_EQ(best({{"a", 0x20, 0}, {"sized_b", 0x20, 0x10}}), "sized_b+0");
    EXPECT_EQ(best({{"__a", 0x20}, {"_bb", 0x20}, {"ccc", 0x20, 0x10, STB_LOCAL}}), "ccc+0");
    EXPECT_EQ(best({{"_aaa", 0x20}, {"_Z1fv", 0x20}}), "f()+0") << "that underscore is mangling";
    EXPECT_EQ(best({{"local", 0x20, 0x10, STB_LOCAL}, {"exported", 0x20}}), "exported+0");
    EXPECT_EQ(best({{"local", 0x20, 0x10, STB_LOCAL}, {"weakly", 0x20, 0x10, STB_WEAK}}),
              "weakly+0");
    EXPECT_EQ(best({{"weak", 0x20, 0x10, STB_WEAK}, {"global", 0x20}}), "global+0");
    EXPECT_EQ(best({{"longer", 0x20}, {"short", 0x20}}), "short+0");
    EXPECT_EQ(best({{"bb", 0x20}, {"aa", 0x20}}), "aa+0");
}

TEST_F(FoundSymbols, AreOfBothTables) {
    EXPECT_THAT(at(file_of({{"one", 0x20}}, {{"two", 0x40}}), {0x20, 0x40}),
                ElementsAre("one+0", "two+0"));
}

TEST_F(FoundSymbols, OutsideTheCodeAreLeftOut) {
    EXPECT_THAT(at(file_of({{"beyond", code_bytes}, {"large", code_bytes - 0x10, 0x1000}}),
                   {code_bytes - 1, code_bytes, code_bytes + 1}),
                ElementsAre("large+15", "", ""));
}

TEST(KernelSymbols, OfSeveralNamesHaveTheBestOne) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "kallsyms";
    write(path,
          "ffffffff81000000 t a_local\n"
          "ffffffff81000000 W a_weak\n"
          "ffffffff81000100 w b_weak\n"
          "ffffffff81000100 T b_global\n"
          "ffffffff81000200 W only_weak\n"
          "ffffffff81000300 b data\n"
          "ffffffff81000400 t last\n"
          "ffffffff81000500 TT wrong\n"
          "ffffffff8100050g T wrong\n"
          "ffffffff81000500 T \n");
    const auto table = SymbolTable::of_kernel(path);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->size(), 4U);
    EXPECT_EQ(table->find(0xffffffff81000010)->name, "a_weak");
    EXPECT_EQ(table->find(0xffffffff81000110)->name, "b_global");
    EXPECT_EQ(table->find(0xffffffff810002ff)->name, "only_weak");
    EXPECT_EQ(table->find(0xffffffff810002ff)->offset, 0xffU);
    EXPECT_FALSE(table->find(0xffffffff81000300));
    EXPECT_TRUE(table->find(0xffffffff810fffff + 0x400)) << "1 MiB after the last symbol";
    EXPECT_FALSE(table->find(0xffffffff81100400));
}

}  // namespace
}  // namespace lagtrap::binaries::test::function_symbols_test
