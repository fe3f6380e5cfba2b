#include "binaries/elf/debug_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/debug_support.hpp"

namespace lagtrap::binaries::test::debug_files_test {
namespace {

namespace fs = std::filesystem;

// Searches only these folders, and none of the machine's.
DebugFileSearch only(std::vector<fs::path> folders) {
    DebugFileSearch search;
    search.folders = std::move(folders);
    return search;
}

TEST(DebugFiles, ProgramWithDwarfIsItsOwn) {
    EXPECT_EQ(find_debug_file(inlines("gcc_dwarf5"), only({})), inlines("gcc_dwarf5"));
    EXPECT_EQ(find_debug_file(inlines("gcc_zlib"), only({})), inlines("gcc_zlib"));
}

TEST(DebugFiles, NothingIsFoundWhereThereIsNothing) {
    EXPECT_EQ(find_debug_file(inlines("none"), {}), std::nullopt);
    EXPECT_EQ(find_debug_file("/no/such/file", {}), std::nullopt);
    EXPECT_EQ(find_debug_file("/etc/passwd", {}), std::nullopt);
    for (const char* id : {"", "ab", "../../etc/passwd", "ABCDEF012345", "abcde", "0123456789"})
        EXPECT_EQ(find_debug_file_of(id, {}), std::nullopt) << id;
}

TEST(DebugFiles, FoundByBuildId) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    const auto tree = folder.path() / "tree";
    EXPECT_EQ(find_debug_file(split.program, only({tree})), std::nullopt);
    fs::copy_file(split.debug_file, build_id_place(tree, id));
    EXPECT_EQ(find_debug_file(split.program, only({folder.path() / "empty", tree})),
              build_id_place(tree, id));
    EXPECT_EQ(find_debug_file_of(id, only({tree})), build_id_place(tree, id));
}

TEST(DebugFiles, OfAnotherBuildIdIsRefused) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    const auto tree = folder.path() / "tree";
    run("objcopy --only-keep-debug " + inlines("gcc_other").string() + " " +
        build_id_place(tree, id).string());
    EXPECT_EQ(find_debug_file(split.program, only({tree})), std::nullopt);
    EXPECT_EQ(find_debug_file_of(id, only({tree})), std::nullopt);
    // A file that is not ELF, a folder, a pipe without a writer.
    for (const char* make : {"echo text > ", "mkdir ", "mkfifo "}) {
        fs::remove_all(build_id_place(tree, id));
        run(make + build_id_place(tree, id).string());
        EXPECT_EQ(find_debug_file_of(id, only({tree})), std::nullopt) << make;
    }
}

TEST(DebugFiles, FoundByDebugLink) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), true);
    const auto tree = folder.path() / "tree";
    EXPECT_EQ(find_debug_file(split.program, only({tree})), split.debug_file)
        << "beside the program";

    const auto hidden = folder.path() / ".debug/program.debug";
    fs::create_directories(hidden.parent_path());
    fs::rename(split.debug_file, hidden);
    EXPECT_EQ(find_debug_file(split.program, only({tree})), hidden);

    const auto by_path = tree / folder.path().relative_path() / "program.debug";
    fs::create_directories(by_path.parent_path());
    fs::rename(hidden, by_path);
    EXPECT_EQ(find_debug_file(split.program, only({tree})), by_path);

    // The program as seen through another process's root.
    const fs::path through_proc =
        fs::path("/proc") / std::to_string(::getpid()) / "root" / split.program.relative_path();
    EXPECT_EQ(find_debug_file(through_proc, only({tree})), by_path);

    fs::remove(by_path);
    EXPECT_EQ(find_debug_file(split.program, only({tree})), std::nullopt);
}

TEST(DebugFiles, WithAnotherChecksumIsRefused) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), true);
    std::string content = content_of(split.debug_file);
    content.back() = static_cast<char>(content.back() ^ 1);
    write(split.debug_file, content);
    EXPECT_EQ(find_debug_file(split.program, only({})), std::nullopt);
    content.back() = static_cast<char>(content.back() ^ 1);
    write(split.debug_file, content);
    EXPECT_EQ(find_debug_file(split.program, only({})), split.debug_file);
}

TEST(DebugFiles, OfALinkMustHaveTheBuildIdToo) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto other = folder.path() / "other.debug";
    run("objcopy --only-keep-debug " + inlines("gcc_other").string() + " " + other.string());
    run("objcopy --add-gnu-debuglink=" + other.string() + " " + split.program.string());
    EXPECT_EQ(find_debug_file(split.program, only({})), std::nullopt);
}

TEST(DebugFiles, ALinkDoesNotLeadOutOfTheFolders) {
    const TemporaryFolder folder;
    fs::create_directories(folder.path() / "inner");
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path() / "inner", true);
    fs::rename(split.debug_file, folder.path() / "program.debug");
    const auto section = folder.path() / "link";
    run("objcopy --dump-section .gnu_debuglink=" + section.string() + " " + split.program.string() +
        " /dev/null");
    const std::string link = content_of(section);
    std::string outside = "../program.debug";
    outside.resize((outside.size() + 4) / 4 * 4, '\0');
    write(section, outside + link.substr(link.size() - 4));
    run("objcopy --update-section .gnu_debuglink=" + section.string() + " " +
        split.program.string());
    EXPECT_EQ(find_debug_file(split.program, only({})), std::nullopt);
}

TEST(DebugFiles, FoundInAPlainFolder) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    const auto plain = folder.path() / "plain";
    fs::create_directories(plain / "some/where");
    // the same build id, but without content
    fs::copy_file(split.program, plain / "some/a-program");
    write(plain / "notes.txt", "not a program");
    const auto search = only({plain});
    EXPECT_EQ(find_debug_file_of(id, only({plain})), std::nullopt);
    fs::rename(split.debug_file, plain / "some/where/named-by-nobody");
    EXPECT_EQ(find_debug_file_of(id, search), plain / "some/where/named-by-nobody");
    EXPECT_EQ(find_debug_file(split.program, search), plain / "some/where/named-by-nobody");
    // Read once: the answer is cached, but checked again.
    fs::remove(plain / "some/where/named-by-nobody");
    EXPECT_EQ(find_debug_file_of(id, search), std::nullopt);
}

TEST(DebugFiles, InAPlainFolderDwarfIsPreferredToSymbols) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    const auto plain = folder.path() / "plain";
    fs::create_directories(plain);
    run("objcopy --strip-debug " + inlines("gcc_dwarf5").string() + " " +
        (plain / "a-symbols").string());
    EXPECT_EQ(find_debug_file_of(id, only({plain})), plain / "a-symbols");
    fs::rename(split.debug_file, plain / "m-dwarf");
    fs::copy_file(plain / "a-symbols", plain / "z-symbols");
    EXPECT_EQ(find_debug_file_of(id, only({plain})), plain / "m-dwarf");
}

TEST(DebugFiles, PlainFoldersAreReadEightLevelsDeep) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    const auto plain = folder.path() / "plain";
    const auto eighth = plain / "1/2/3/4/5/6/7/8";
    fs::create_directories(eighth / "9");
    fs::copy_file(split.debug_file, eighth / "9/file");
    EXPECT_EQ(find_debug_file_of(id, only({plain})), std::nullopt);
    fs::copy_file(split.debug_file, eighth / "file");
    EXPECT_EQ(find_debug_file_of(id, only({plain})), eighth / "file");
    // With a tree of build ids in it, it is no plain folder.
    fs::create_directories(plain / ".build-id");
    EXPECT_EQ(find_debug_file_of(id, only({plain})), std::nullopt);
}

TEST(DebugFiles, FoldersAreSearchedInTheirOrder) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    const auto first = folder.path() / "first", second = folder.path() / "second";
    for (const auto& tree : {first, second})
        fs::copy_file(split.debug_file, build_id_place(tree, id));
    EXPECT_EQ(find_debug_file_of(id, only({first, second})), build_id_place(first, id));
    EXPECT_EQ(find_debug_file_of(id, only({second, first})), build_id_place(second, id));
    EXPECT_EQ(DebugFileSearch().folders, std::vector<fs::path>{"/usr/lib/debug"});
}

TEST(DebugFiles, ServersAreAskedLastAndChecked) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    const auto id = build_id_of(split.program);
    auto search = only({});
    std::vector<std::string> asked;
    fs::path answer = split.debug_file;
    search.ask_servers = [&](const std::string& build_id) -> std::optional<fs::path> {
        asked.push_back(build_id);
        return answer;
    };
    EXPECT_EQ(find_debug_file(split.program, search), split.debug_file);
    EXPECT_EQ(find_debug_file_of(id, search), split.debug_file);
    EXPECT_THAT(asked, ::testing::ElementsAre(id, id));
    answer = inlines("gcc_other");
    EXPECT_EQ(find_debug_file_of(id, search), std::nullopt) << "another build id";
    asked.clear();
    EXPECT_EQ(find_debug_file(inlines("gcc_dwarf5"), search), inlines("gcc_dwarf5"));
    EXPECT_THAT(asked, ::testing::IsEmpty());
}

}  // namespace
}  // namespace lagtrap::binaries::test::debug_files_test
