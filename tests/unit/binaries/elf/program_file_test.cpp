#include "binaries/elf/program_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::program_file_test {
namespace {

using ::testing::HasSubstr;

std::set<std::string> names_of(const std::vector<Function>& functions) {
    std::set<std::string> names;
    for (const auto& function : functions) names.insert(function.name);
    return names;
}

// USDT sites according to readelf: "name address semaphore arguments" each, in order.
std::vector<std::string> probes_by_readelf(const std::filesystem::path& path) {
    std::istringstream lines(output_of("readelf -nW " + path.string()));
    std::vector<std::string> probes;
    std::string name;
    std::string places;
    for (std::string line; std::getline(lines, line);) {
        const auto after = [&](const std::string& label) {
            const auto at = line.find(label);
            return at == std::string::npos ? std::string() : line.substr(at + label.size());
        };
        if (line.find("    Name: ") == 0) name = after("Name: ");
        if (line.find("    Location: ") == 0)
            places = std::to_string(std::stoull(after("Location: "), nullptr, 16)) + " " +
                     std::to_string(std::stoull(after("Semaphore: "), nullptr, 16));
        if (line.find("    Arguments: ") == 0)
            probes.push_back(name + " " + places + " " + after("Arguments: "));
    }
    return probes;
}

TEST(ProgramFile, ReadsPostgresProbesAsReadelfDoes) {
    auto file = ProgramFile::open(postgres);
    ASSERT_TRUE(file) << file.error().message;
    auto probes = file->usdt_probes();
    ASSERT_TRUE(probes) << probes.error().message;
    std::vector<std::string> seen;
    for (const auto& probe : *probes)
        seen.push_back(probe.name + " " + std::to_string(probe.address) + " " +
                       std::to_string(probe.semaphore) + " " + probe.arguments);
    EXPECT_GE(seen.size(), 60U);
    EXPECT_EQ(seen, probes_by_readelf(postgres));
}

TEST(ProgramFile, CountsTheArgumentsOfPostgresProbes) {
    auto file = ProgramFile::open(postgres);
    ASSERT_TRUE(file);
    const auto probes = file->usdt_probes();
    ASSERT_TRUE(probes);
    const auto named = [&](std::string_view name) {
        return *std::find_if(probes->begin(), probes->end(),
                             [&](const auto& probe) { return probe.name == name; });
    };
    EXPECT_EQ(named("query__start").provider, "postgresql");
    EXPECT_EQ(named("query__start").argument_count, 1U);
    EXPECT_EQ(named("query__plan__start").argument_count, 0U);
    // From PostgreSQL's documentation: fork number, block, tablespace, database, relation, backend,
    // local.
    EXPECT_EQ(named("buffer__read__start").argument_count, 7U);
    EXPECT_NE(named("query__done").semaphore, 0U);
}

TEST(ProgramFile, FindsDynamicSymbolsOfAStrippedProgram) {
    auto file = ProgramFile::open(redis_program);
    ASSERT_TRUE(file);
    const auto found = file->find_functions("call");
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_TRUE(found->front().dynamic);
    EXPECT_GT(found->front().size, 100U);
    EXPECT_EQ(file->file_offset_of(found->front().address), found->front().file_offset);
    EXPECT_EQ(file->address_of(found->front().file_offset), found->front().address);
    EXPECT_TRUE(file->find_functions("no_such_function")->empty());
}

TEST(ProgramFile, FindsEveryOverloadByQualifiedName) {
    auto file = ProgramFile::open(store_folder / "libstore.so");
    ASSERT_TRUE(file);
    EXPECT_THAT(names_of(*file->find_functions("ns::Store::get")),
                ::testing::UnorderedElementsAre("_ZNK2ns5Store3getEi", "_ZNK2ns5Store3getEPKc"));
    EXPECT_THAT(names_of(*file->find_functions("ns::Store::get(int) const")),
                ::testing::UnorderedElementsAre("_ZNK2ns5Store3getEi"));
    EXPECT_THAT(names_of(*file->find_functions("_ZNK2ns5Store3getEi")),
                ::testing::UnorderedElementsAre("_ZNK2ns5Store3getEi"));
    EXPECT_THAT(names_of(*file->find_functions("ns::twice<int>")),
                ::testing::UnorderedElementsAre("_ZN2ns5twiceIiEET_S1_"));
    EXPECT_THAT(names_of(*file->find_functions("hidden_helper")),
                ::testing::UnorderedElementsAre("_ZL13hidden_helperi"));
    EXPECT_TRUE(file->find_functions("Store::get")->empty()) << "not the qualified name";
    // C1 and C2 are the same code; probing both would count every call twice.
    EXPECT_EQ(file->find_functions("ns::Store::Store")->size(), 1U);
}

TEST(ProgramFile, SortsFunctionsAndRepeatsNone) {
    auto file = ProgramFile::open(store_folder / "libstore.so");
    ASSERT_TRUE(file);
    const auto functions = file->functions();
    ASSERT_TRUE(functions);
    EXPECT_TRUE(names_of(*functions).contains("_ZL13hidden_helperi"));
    EXPECT_TRUE(names_of(*functions).contains("plain_function"));
    for (std::size_t index = 1; index < functions->size(); ++index) {
        const auto& before = (*functions)[index - 1];
        const auto& after = (*functions)[index];
        EXPECT_LT(std::tie(before.address, before.name), std::tie(after.address, after.name));
    }
}

TEST(ProgramFile, ReadsSymbolsOfMiniDebugInfo) {
    auto stripped = ProgramFile::open(store_folder / "libstore.stripped.so");
    auto mini = ProgramFile::open(store_folder / "libstore.mini.so");
    ASSERT_TRUE(stripped);
    ASSERT_TRUE(mini);
    EXPECT_TRUE(stripped->find_functions("_ZL13hidden_helperi")->empty());
    EXPECT_EQ(mini->find_functions("_ZL13hidden_helperi")->size(), 1U);
}

TEST(ProgramFile, LeavesIndirectFunctionsOut) {
    // libc's strlen is a resolver, which runs once per process.
    const auto line = output_of("ldconfig -p | grep -m1 'libc.so.6.*x86-64'");
    const std::string path =
        line.substr(line.rfind("=> ") + 3, line.rfind('\n') - line.rfind("=> ") - 3);
    auto file = ProgramFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->find_functions("strlen")->empty());
    EXPECT_EQ(file->find_functions("malloc")->size(), 1U);
}

TEST(ProgramFile, GivesTheBuildIdThatReadelfGives) {
    for (const auto& path :
         {postgres, redis_program, store_folder / "libstore.so", store_folder / "libstore.debug"}) {
        const auto notes = output_of("readelf -nW " + path.string());
        const auto at = notes.find("Build ID: ");
        ASSERT_NE(at, std::string::npos);
        auto file = ProgramFile::open(path);
        ASSERT_TRUE(file);
        EXPECT_EQ(file->build_id(), notes.substr(at + 10, 40));
        if (path.extension() == ".debug") continue;
        const auto fd = open_file(path, O_RDONLY);
        ASSERT_TRUE(fd);
        EXPECT_EQ(read_build_id(fd->get()), file->build_id());
    }
}

TEST(ProgramFile, SaysWhatAFileIsInsteadOfAProgram) {
    const TemporaryFolder folder;
    const auto message = [&](const std::filesystem::path& path) {
        auto file = ProgramFile::open(path);
        if (file) return std::string("opened");
        EXPECT_EQ(file.error().kind, ErrorKind::Invalid);
        return file.error().message;
    };
    write(folder.path() / "script",
          "#!/bin/sh\necho a program that is long enough to be mistaken for a header\n");
    write(folder.path() / "text",
          "not a program, but as long as the header of one would be, and longer\n");
    write(folder.path() / "empty", "");
    std::string narrow = content_of(redis_program).substr(0, 4096);
    narrow[4] = 1;
    write(folder.path() / "narrow", narrow);
    std::string object = content_of(redis_program).substr(0, 4096);
    object[16] = 1;
    write(folder.path() / "object", object);
    ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(message(folder.path() / "script"), HasSubstr("is a script"));
    EXPECT_THAT(message(folder.path() / "text"), HasSubstr("is not a program or library (ELF)"));
    EXPECT_THAT(message(folder.path() / "empty"), HasSubstr("is not a program or library (ELF)"));
    EXPECT_THAT(message(folder.path() / "narrow"), HasSubstr("is a 32-bit program"));
    EXPECT_THAT(message(folder.path() / "object"), HasSubstr("is an object file"));
    EXPECT_THAT(message(folder.path() / "pipe"), HasSubstr("is not a regular file"));
    EXPECT_THAT(message(folder.path()), HasSubstr("is a folder"));
    EXPECT_EQ(ProgramFile::open(folder.path() / "absent").error().kind, ErrorKind::NotFound);
}

TEST(ProgramFile, RefusesAFileBeyondTheLimit) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "huge";
    write(path, content_of(store_folder / "libstore.so"));
    std::filesystem::resize_file(path, (4ULL << 30) + 1);  // a hole without blocks
    const auto file = ProgramFile::open(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::TooLarge);
}

// Queries everything. Whatever the file contains, there must be answers or errors.
void ask_everything(const std::filesystem::path& path) {
    auto file = ProgramFile::open(path);
    const auto fd = open_file(path, O_RDONLY);
    ASSERT_TRUE(fd);
    (void)read_build_id(fd->get());
    if (!file) {
        EXPECT_FALSE(file.error().message.empty());
        return;
    }
    (void)file->build_id();
    (void)file->usdt_probes();
    (void)file->functions();
    (void)file->find_functions("ns::Store::get");
    (void)file->file_offset_of(0x1000);
    (void)file->address_of(0x1000);
}

TEST(ProgramFile, SurvivesTruncationAnywhere) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "damaged";
    for (const auto& source : {store_folder / "libstore.mini.so", store_folder / "libstore.so"}) {
        const std::string whole = content_of(source);
        ASSERT_GT(whole.size(), 1000U);
        for (std::size_t size = 0; size < whole.size(); size += size < 1024 ? 7 : 211) {
            write(path, whole.substr(0, size));
            ask_everything(path);
        }
        // The section headers are at the end. Without them nothing can be found, and the error says
        // so.
        write(path, whole.substr(0, whole.size() - 64));
        EXPECT_FALSE(ProgramFile::open(path));
    }
}

TEST(ProgramFile, SurvivesFlippedBytesAnywhere) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "damaged";
    const std::string whole = content_of(store_folder / "libstore.so");
    const auto flip = [&](std::size_t at, unsigned char mask) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ mask);
        write(path, damaged);
        ask_everything(path);
    };
    for (std::size_t at = 4; at < 704; ++at) flip(at, 0xff);  // all headers
    for (std::size_t at = 704; at < whole.size(); at += 31) flip(at, at % 2 == 0 ? 0x80 : 0x7f);
    for (std::size_t at = whole.size() - 2048; at < whole.size(); at += 2) flip(at, 0xff);
}

TEST(ProgramFile, SaysWhichUsdtNoteIsDamaged) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "damaged";
    std::string damaged = content_of(postgres);
    const auto note = damaged.find("stapsdt");
    ASSERT_NE(note, std::string::npos);
    damaged[note - 6] = '\x7f';  // third byte of the description's size
    write(path, damaged);
    auto file = ProgramFile::open(path);
    ASSERT_TRUE(file);
    const auto probes = file->usdt_probes();
    ASSERT_FALSE(probes);
    EXPECT_THAT(probes.error().message, HasSubstr(".note.stapsdt"));
}

}  // namespace
}  // namespace lagtrap::binaries::test::program_file_test
