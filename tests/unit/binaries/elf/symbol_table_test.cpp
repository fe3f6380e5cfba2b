#include "binaries/elf/symbol_table.hpp"

#include <dlfcn.h>
#include <link.h>

#include <csignal>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "tests/unit/binaries/debug_support.hpp"

namespace lagtrap::binaries::test::symbol_table_test {
namespace {

using ::testing::HasSubstr;

std::uint64_t offset_of(const std::filesystem::path& path, const std::string& symbol) {
    auto file = ProgramFile::open(path);
    if (!file) return 0;
    const auto found = file->find_functions(symbol);
    return found && found->size() == 1 ? found->front().file_offset : 0;
}

TEST(SymbolTable, NamesEveryFunctionOfNm) {
    const auto path = store_folder / "libstore.so";
    auto table = SymbolTable::of_file(path);
    ASSERT_TRUE(table) << table.error().message;
    const auto get = offset_of(path, "_ZNK2ns5Store3getEi");
    ASSERT_NE(get, 0U);
    const auto hit = table->find(get + 1);
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->name, "ns::Store::get(int) const");
    EXPECT_EQ(hit->offset, 1U);
    EXPECT_EQ(table->find(offset_of(path, "_ZL13hidden_helperi"))->name, "hidden_helper(int)");
    EXPECT_EQ(table->find(offset_of(path, "plain_function"))->name, "plain_function");
    EXPECT_FALSE(table->find(0));
    EXPECT_FALSE(table->find(~std::uint64_t{0}));
}

std::uintptr_t returns_to = 0;

__attribute__((noinline)) void note_return(int) {
    returns_to = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

// Debian's C library has no symbol there.
TEST(SymbolTable, NamesWhereSignalHandlersReturnTo) {
    std::signal(SIGUSR1, note_return);
    std::raise(SIGUSR1);
    std::signal(SIGUSR1, SIG_DFL);
    Dl_info library{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(returns_to), &library), 0);
    // The merge opens programs by such paths.
    const TemporaryFolder folder;
    const auto path = folder.path() / "12";
    std::filesystem::create_symlink(library.dli_fname, path);
    auto file = ProgramFile::open(path);
    auto table = SymbolTable::of_file(path);
    ASSERT_TRUE(file && table);
    const auto loaded_at = reinterpret_cast<std::uintptr_t>(library.dli_fbase);
    const auto offset = file->file_offset_of(returns_to - loaded_at);
    ASSERT_TRUE(offset);
    const auto hit = table->find(*offset - 1);
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->name, "__restore_rt");
}

TEST(SymbolTable, EndsFunctionsWhereTheyEnd) {
    const auto path = redis_program;
    auto file = ProgramFile::open(path);
    ASSERT_TRUE(file);
    const auto call = file->find_functions("call");
    ASSERT_TRUE(call);
    ASSERT_EQ(call->size(), 1U);
    auto table = SymbolTable::of_file(path);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->find(call->front().file_offset + call->front().size - 1)->name, "call");
    const auto after = table->find(call->front().file_offset + call->front().size);
    EXPECT_TRUE(!after || after->name != "call");
}

TEST(SymbolTable, UsesTheSeparateDebugFileOfTheSameBuildId) {
    const TemporaryFolder folder;
    const auto stripped = store_folder / "libstore.stripped.so";
    const auto hidden = offset_of(store_folder / "libstore.so", "_ZL13hidden_helperi");
    const auto id = ProgramFile::open(stripped)->build_id();
    const auto place = folder.path() / ".build-id" / id.substr(0, 2);
    std::filesystem::create_directories(place);
    DebugFileSearch search;
    search.folders = {folder.path()};
    EXPECT_FALSE(SymbolTable::of_file(stripped, search)->find(hidden));

    std::filesystem::copy_file(redis_program, place / (id.substr(2) + ".debug"));
    EXPECT_FALSE(SymbolTable::of_file(stripped, search)->find(hidden))
        << "another program's debug file";

    std::filesystem::copy_file(store_folder / "libstore.debug", place / (id.substr(2) + ".debug"),
                               std::filesystem::copy_options::overwrite_existing);
    auto table = SymbolTable::of_file(stripped, search);
    ASSERT_TRUE(table);
    ASSERT_TRUE(table->find(hidden));
    EXPECT_EQ(table->find(hidden)->name, "hidden_helper(int)");
}

TEST(SymbolTable, UsesTheDebugFileOfADebugLink) {
    const TemporaryFolder folder;
    const SplitProgram split(store_folder / "libstore.so", folder.path(), true);
    const auto hidden = offset_of(store_folder / "libstore.so", "_ZL13hidden_helperi");
    auto table = SymbolTable::of_file(split.program);
    ASSERT_TRUE(table) << table.error().message;
    ASSERT_TRUE(table->find(hidden));
    EXPECT_EQ(table->find(hidden)->name, "hidden_helper(int)");
    std::filesystem::remove(split.debug_file);
    EXPECT_FALSE(SymbolTable::of_file(split.program)->find(hidden));
}

TEST(SymbolTable, OfADebugFileAloneHasTheSameNamesAtTheSameOffsets) {
    const TemporaryFolder folder;
    for (const char* name : {"gcc_dwarf5", "gcc_no_pie"}) {
        const SplitProgram split(inlines(name), folder.path(), false);
        const auto file = ProgramFile::open(inlines(name));
        const auto whole = SymbolTable::of_file(inlines(name));
        ASSERT_TRUE(whole);
        const auto addresses = planted_addresses(inlines(name));
        ASSERT_FALSE(addresses.empty());
        const std::uint64_t bias =
            addresses.front() - file->file_offset_of(addresses.front()).value_or(0);
        const auto alone = SymbolTable::of_debug_file(split.debug_file, bias);
        ASSERT_TRUE(alone) << alone.error().message;
        for (const auto address : addresses) {
            const auto hit = alone->find(address - bias);
            ASSERT_TRUE(hit);
            EXPECT_EQ(hit->name, whole->find(address - bias)->name);
            EXPECT_EQ(hit->offset, whole->find(address - bias)->offset);
        }
        EXPECT_FALSE(alone->find(0));
    }
}

TEST(SymbolTable, RefusesTablesBeyondTheLimitWhileItReads) {
    const auto path = store_folder / "libstore.so";
    const auto table = SymbolTable::of_file(path);
    ASSERT_TRUE(table);
    EXPECT_GT(table->memory_bytes(), 100U);
    std::uint64_t enough = 0;
    for (std::uint64_t limit : {0, 100, 1'000, 100'000}) {
        const auto limited = SymbolTable::of_file(path, {}, limit);
        if (limited) {
            enough = enough == 0 ? limit : enough;
            EXPECT_LE(limited->memory_bytes(), limit);
        } else {
            EXPECT_EQ(enough, 0U);
            EXPECT_EQ(limited.error().kind, ErrorKind::TooLarge);
            EXPECT_THAT(limited.error().message, HasSubstr("libstore.so"));
        }
    }
    EXPECT_EQ(enough, 100'000U);
    // In .gnu_debugdata and in a debug file as well.
    const TemporaryFolder folder;
    const SplitProgram split(path, folder.path(), true);
    const auto stripped_needs =
        SymbolTable::of_file(store_folder / "libstore.stripped.so")->memory_bytes();
    for (const auto& program : {store_folder / "libstore.mini.so", split.program}) {
        const auto limited = SymbolTable::of_file(program, {}, 4 * stripped_needs);
        ASSERT_FALSE(limited) << program;
        EXPECT_EQ(limited.error().kind, ErrorKind::TooLarge) << limited.error().message;
    }
}

TEST(SymbolTable, ReadsKernelSymbols) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "kallsyms";
    write(path,
          "0000000000000000 A fixed_percpu_data\n"
          "ffffffff81000000 T _text\n"
          "ffffffff81000100 T do_fsync\n"
          "ffffffff81000100 T __do_fsync\n"
          "ffffffff81000200 t vfs_fsync_range\n"
          "ffffffff81000300 D jiffies\n"
          "not a line at all\n"
          "ffffffffc0001000 t ext4_sync_file\t[ext4]\n");
    auto table = SymbolTable::of_kernel(path);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->find(0xffffffff81000110)->name, "do_fsync");
    EXPECT_EQ(table->find(0xffffffff81000110)->offset, 0x10U);
    EXPECT_EQ(table->find(0xffffffff810002ff)->name, "vfs_fsync_range");
    EXPECT_FALSE(table->find(0xffffffff81000300)) << "data";
    EXPECT_FALSE(table->find(0xffffffff80ffffff));
    EXPECT_EQ(table->find(0xffffffffc0001234)->name, "ext4_sync_file [ext4]");
    EXPECT_FALSE(table->find(0xffffffffc0001000 + (8ULL << 20))) << "far behind the last symbol";
}

TEST(SymbolTable, IsEmptyWhereTheKernelHidesItsAddresses) {
    const TemporaryFolder folder;
    write(folder.path() / "kallsyms", "0000000000000000 T _text\n0000000000000000 T do_fsync\n");
    auto table = SymbolTable::of_kernel(folder.path() / "kallsyms");
    ASSERT_TRUE(table);
    EXPECT_EQ(table->size(), 0U);
}

TEST(SymbolTable, SaysWhyAFileHasNone) {
    EXPECT_EQ(SymbolTable::of_file("/no/such/file").error().kind, ErrorKind::NotFound);
    EXPECT_EQ(SymbolTable::of_kernel("/no/such/file").error().kind, ErrorKind::NotFound);
    EXPECT_THAT(SymbolTable::of_file("/").error().message, HasSubstr("is a folder"));
}

// Compares with nm on a real program: every function that nm lists is found by every byte tested.
TEST(SymbolTable, AgreesWithNmOnAWholeProgram) {
    auto file = ProgramFile::open(redis_program);
    auto table = SymbolTable::of_file(redis_program);
    ASSERT_TRUE(file);
    ASSERT_TRUE(table);
    std::istringstream lines(output_of("nm -D --defined-only -S " + redis_program.string()));
    int checked = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string address;
        std::string size;
        std::string type;
        std::string name;
        if (!(fields >> address >> size >> type >> name) || type != "T") continue;
        const auto offset = file->file_offset_of(std::stoull(address, nullptr, 16));
        ASSERT_TRUE(offset);
        const auto hit = table->find(*offset + std::stoull(size, nullptr, 16) / 2);
        ASSERT_TRUE(hit) << name;
        EXPECT_EQ(*offset + std::stoull(size, nullptr, 16) / 2 - hit->offset, *offset) << name;
        ++checked;
    }
    EXPECT_GT(checked, 1000);
}

}  // namespace
}  // namespace lagtrap::binaries::test::symbol_table_test
