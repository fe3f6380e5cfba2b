#include "daemon/unwinding/code_modules.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/unique_fd.hpp"
#include "daemon/unwinding/kept_tables.hpp"
#include "daemon/unwinding/watched_code.hpp"
#include "tests/unit/daemon/spaces_fixture.hpp"

namespace lagtrap::daemon::code_modules_test {
namespace {

// Which table a mapping of the process has, and whether the table is there.
class SharedTables : public SpacesFixture {
  protected:
    SharedTables() {
        std::filesystem::create_directory(folder_);
        users[1] = 0;
        users[2] = 1000;
        users[3] = 1001;
    }
    ~SharedTables() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path copy(const char* name,
                               std::filesystem::perms mode = std::filesystem::perms(0755)) {
        std::filesystem::copy_file("/usr/bin/true", folder_ / name);
        std::filesystem::permissions(folder_ / name, mode);
        return folder_ / name;
    }
    void map_file(std::uint32_t pid, const std::filesystem::path& path) {
        struct stat facts {};
        ASSERT_EQ(::stat(path.c_str(), &facts), 0);
        map(pid, 0x100000, 0x200000, path.string(), 0, facts.st_ino);
        publish();
        make_all();
        publish();
    }
    std::uint32_t table_of(std::uint32_t pid) {
        return memory.spaces.at(memory.processes.at(pid)).front().table;
    }
    std::size_t modules_known() {
        std::size_t count = 0;
        modules.for_each([&](const CodeModule&) { ++count; });
        return count;
    }

    std::filesystem::path folder_ =
        testing::TempDir() + "lagtrap-shared-" + std::to_string(::getpid());
};

TEST_F(SharedTables, FilesOfTheSameBuildIdAreToldApart) {
    map_file(1, copy("one"));
    map_file(2, copy("two"));
    EXPECT_EQ(modules_known(), 2U);
    EXPECT_EQ(modules.totals().made, 2U)
        << "a table was taken for another file's, by its build id alone";
}

// A file can be inspected before the event of its mapping arrives, where another one was before.
TEST_F(SharedTables, AFileGetsItsTableAfterAMappingWithAnothersBuildId) {
    const auto path = copy("one");
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto map_with = [&](const std::string& build_id) {
        map(1, 0x100000, 0x200000, path.string(), 0, facts.st_ino, build_id);
        publish();
        make_all();
    };
    map_with("0123456789abcdef0123");
    modules.for_each(
        [](const CodeModule& module) { EXPECT_EQ(module.state, ModuleState::Waiting); });
    map_with(binaries::read_build_id(file.get()));
    modules.for_each([](const CodeModule& module) { EXPECT_EQ(module.state, ModuleState::Ready); });
    EXPECT_EQ(modules_known(), 1U);
}

TEST_F(SharedTables, TheSameContentTakesTheRoomOfOne) {
    map_file(1, copy("one"));
    const std::uint64_t before_bytes = memory.table_bytes;
    map_file(2, copy("two"));
    EXPECT_EQ(memory.table_bytes, before_bytes);
    EXPECT_EQ(table_of(1), table_of(2));
    modules.sweep(CodeModules::Clock::now());
    EXPECT_EQ(memory.states.at(table_of(2)), LAGTRAP_UNWIND_TABLE_READY);
}

TEST_F(SharedTables, OneFileIsOneForAllUsersWhereRootAloneCanWriteIt) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root's files can be written by root alone";
    const auto path = copy("shared");
    map_file(2, path);
    map_file(3, path);
    EXPECT_EQ(modules_known(), 1U);
    modules.for_each([](const CodeModule& module) { EXPECT_TRUE(module.kept_on_disk); });
}

TEST_F(SharedTables, WhatOthersCanWriteIsEachUsersOwnAndNotKeptOnDisk) {
    const auto path = copy("open", std::filesystem::perms(0777));
    map_file(2, path);
    map_file(3, path);
    EXPECT_EQ(modules_known(), 2U);
    modules.for_each([](const CodeModule& module) { EXPECT_FALSE(module.kept_on_disk); });
}

TEST_F(SharedTables, AFileThatChangedIsAnother) {
    const auto path = copy("changing");
    map_file(1, path);
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    map_file(2, path);
    EXPECT_EQ(modules_known(), 2U);
}

class UnreadTables : public SharedTables {
  protected:
    // Maps the file into this process and a child, without reporting that.
    static void* map_here(const std::filesystem::path& path) {
        const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
    }
    void note_mapping(std::uint32_t pid, const void* start, const std::filesystem::path& path,
                      std::uint64_t inode) {
        const auto address = reinterpret_cast<std::uint64_t>(start);
        map(pid, address, address + 4096, path.string(), 0, inode);
    }
    void look_again() {
        spaces.look_again_at_unread();
        const auto later = ProcessSpaces::Clock::now() + std::chrono::seconds(1);
        publish(later);
        make_all();
        publish(later);
    }
    std::vector<ModuleState> states() {
        std::vector<ModuleState> found;
        modules.for_each([&](const CodeModule& module) { found.push_back(module.state); });
        return found;
    }
    static std::uint64_t inode_of(const std::filesystem::path& path) {
        struct stat facts {};
        return ::stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
    }
};

TEST_F(UnreadTables, AFileThatIsUnlinkedBeforeItsTurnIsReadThroughItsMapping) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root opens what is mapped from a file without a name";
    const auto path = copy("unlinked");
    const auto pid = static_cast<std::uint32_t>(::getpid());
    void* const mapped = map_here(path);
    ASSERT_NE(mapped, MAP_FAILED);
    note_mapping(pid, mapped, path, inode_of(path));
    publish();
    std::filesystem::remove(path);  // changes the file's state since it was checked
    make_all();
    ASSERT_EQ(states(), std::vector{ModuleState::Waiting});
    look_again();
    EXPECT_EQ(memory.states.at(table_of(pid)), LAGTRAP_UNWIND_TABLE_READY);
    ::munmap(mapped, 4096);
}

TEST_F(UnreadTables, AFileIsReadThroughAnotherProcessIfTheOneThatCameFirstIsGone) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root opens what another process has mapped";
    const auto path = copy("shared");
    void* const mapped = map_here(path);
    ASSERT_NE(mapped, MAP_FAILED);
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const auto other = static_cast<std::uint32_t>(::getpid()),
               first = static_cast<std::uint32_t>(child);
    const std::uint64_t inode = inode_of(path);
    // In this order, so that the queued job reads it through the child.
    note_mapping(first, mapped, path, inode);
    publish();
    note_mapping(other, mapped, path, inode);
    publish();
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    exit(first);
    std::filesystem::remove(path);
    make_all();
    look_again();
    EXPECT_EQ(memory.states.at(table_of(other)), LAGTRAP_UNWIND_TABLE_READY);
    ::munmap(mapped, 4096);
}

// As of a program that ran for a moment only.
TEST_F(UnreadTables, AFileThatNobodyMapsAnyMoreHasNoTableToCome) {
    const auto path = copy("gone");
    map(1, 0x100000, 0x200000, path.string(), 0, inode_of(path));
    publish();
    EXPECT_EQ(modules.tables_to_come(), 1U);
    std::filesystem::remove(path);
    make_all();
    ASSERT_EQ(states(), std::vector{ModuleState::Waiting});
    EXPECT_EQ(modules.tables_to_come(), 1U) << "its process may still map it";
    exit(1);
    publish();
    EXPECT_EQ(modules.tables_to_come(), 0U);
}

TEST_F(SharedTables, TheTablesOfWhoHasManyGiveWay) {
    // Each with different content: the third user's need the room of two, and there is room for
    // three.
    std::vector<std::string> programs{"/usr/bin/true", "/usr/bin/ls", "/usr/bin/sort",
                                      "/usr/bin/cp"};
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto path = folder_ / std::to_string(i);
        std::filesystem::copy_file(programs[i], path);
        std::filesystem::permissions(path, std::filesystem::perms(0777));
        struct stat facts {};
        ASSERT_EQ(::stat(path.c_str(), &facts), 0);
        map(2, 0x1000000 * (i + 1), 0x1000000 * (i + 1) + 0x100000, path.string(), 0, facts.st_ino);
        publish();
        make_all();
        publish();
        bytes = memory.table_bytes;
    }
    memory.table_room_bytes = bytes;
    spaces.note_users();
    const auto small = folder_ / "small";
    std::filesystem::copy_file("/usr/bin/yes", small);
    std::filesystem::permissions(small, std::filesystem::perms(0777));
    map_file(3, small);
    EXPECT_GE(modules.totals().given_up[1000], 1U);
    EXPECT_FALSE(modules.totals().given_up.contains(1001));
    // There is room for the dropped table once spaces are written and it has rested.
    modules.sweep(CodeModules::Clock::now() + std::chrono::seconds(2));
    make_all();
    publish();
    EXPECT_EQ(memory.states.at(table_of(3)), LAGTRAP_UNWIND_TABLE_READY);
}

TEST_F(SharedTables, TheTablesOfOthersStayIfTheyDoNotHaveMore) {
    const auto map_own = [&](std::uint32_t pid, const std::string& program) {
        const auto path = folder_ / std::filesystem::path(program).filename();
        std::filesystem::copy_file(program, path);
        std::filesystem::permissions(path, std::filesystem::perms(0777));
        map_file(pid, path);
    };
    map_own(2, "/usr/bin/ls");
    map_own(3, "/usr/bin/true");
    memory.table_room_bytes = memory.table_bytes;
    spaces.note_users();
    map_own(2, "/usr/bin/sort");
    EXPECT_TRUE(modules.totals().given_up.empty());
    EXPECT_EQ(memory.states.at(table_of(3)), LAGTRAP_UNWIND_TABLE_READY);
}

// A library that a watched program will map, found by its path; no process maps it yet.
class WatchedTables : public SharedTables {
  protected:
    void watch(const std::set<std::string>& programs) {
        modules.begin_watched();
        spaces.add_watched();
        find_watched_code(programs, inspector, [this](const WatchedCode& code) {
            modules.add_watched(code.identity, code.mapping, code.owner);
            return true;
        });
        modules.end_watched();
    }
    std::set<std::string> kept() {
        std::set<std::string> paths;
        for (const CodeModule* const module : modules.kept()) paths.insert(module->path);
        return paths;
    }
};

TEST_F(WatchedTables, AreMadeBeforeAnybodyRunsTheProgram) {
    const auto program = copy("program");
    watch({program.string()});
    std::set<std::string> names;
    for (const std::string& path : kept()) names.insert(std::filesystem::path(path).filename());
    EXPECT_TRUE(names.contains("program"));
    EXPECT_TRUE(names.contains("libc.so.6"));
    EXPECT_TRUE(names.contains("ld-linux-x86-64.so.2")) << "a library that a library needs";
    EXPECT_GE(make_all(), 3U);
    struct stat facts {};
    ASSERT_EQ(::stat(program.c_str(), &facts), 0);
    map(1, 0x100000, 0x200000, program.string(), 0, facts.st_ino);
    publish();
    EXPECT_EQ(make_all(), 0U) << "the process that came has a table of its own";
    EXPECT_EQ(memory.states.at(table_of(1)), LAGTRAP_UNWIND_TABLE_READY);
}

TEST_F(WatchedTables, StayWhenNobodyHasThemMapped) {
    const auto program = copy("program");
    watch({program.string()});
    make_all();
    modules.sweep(CodeModules::Clock::now() + std::chrono::hours(1));
    EXPECT_TRUE(kept().contains(program.string()));
    EXPECT_EQ(modules_known(), kept().size());
    watch({});
    modules.sweep(CodeModules::Clock::now() + std::chrono::hours(1));
    EXPECT_EQ(modules_known(), 0U);
}

TEST_F(WatchedTables, OthersGiveWayToThem) {
    map_file(1, copy("others"));
    memory.table_room_bytes = memory.table_bytes + 100;
    spaces.note_users();
    const auto program = folder_ / "watched";
    std::filesystem::copy_file("/usr/bin/yes", program);
    modules.begin_watched();
    struct stat facts {};
    ASSERT_EQ(::stat(program.c_str(), &facts), 0);
    NamedMapping mapping;
    mapping.mapping.pid = static_cast<std::uint32_t>(::getpid());
    mapping.path = program.string();
    modules.add_watched(inspector.identify({mapping}).front().value(), mapping, 0);
    modules.end_watched();
    make_all();
    // At most half of all the room may be used for it, and this one needs more.
    EXPECT_EQ(memory.states.at(table_of(1)), LAGTRAP_UNWIND_TABLE_READY);
    memory.table_room_bytes = 2 * memory.table_bytes + 100;
    modules.sweep(CodeModules::Clock::now() + std::chrono::seconds(2));
    modules.sweep(CodeModules::Clock::now() + std::chrono::seconds(30));
    make_all();
    EXPECT_TRUE(kept().contains(program.string()));
}

TEST_F(WatchedTables, OneUserHasAnEighthOfTheRoom) {
    KeptTables tables;
    std::vector<std::shared_ptr<CodeModule>> made;
    const auto add = [&](std::uint32_t user, std::uint64_t bytes) {
        made.push_back(std::make_shared<CodeModule>());
        made.back()->charged_user = user;
        made.back()->table_bytes = bytes;
        tables.want(made.back());
        return made.back().get();
    };
    const CodeModule* const first = add(1000, 100);
    const CodeModule* const second = add(1000, 100);
    const CodeModule* const others = add(1001, 100);
    const CodeModule* const roots = add(0, 280);
    const CodeModule* const too_much = add(0, 100);
    const auto kept = tables.within(1000);
    EXPECT_EQ(kept, (std::set<const CodeModule*>{first, others, roots}));
    EXPECT_FALSE(kept.contains(second));
    EXPECT_FALSE(kept.contains(too_much)) << "beyond half of the room";
    made.clear();
    EXPECT_TRUE(tables.within(1000).empty()) << "it held what nobody else has";
}

TEST_F(SharedTables, NobodyTakesAllNumbers) {
    CodeFileIdentity identity;
    NamedMapping mapping;
    mapping.path = "/one/of/many";
    std::vector<std::shared_ptr<CodeModule>> held;
    for (std::uint64_t i = 0; i < LAGTRAP_UNWIND_MAX_TABLES; ++i) {
        identity.inode = i;
        if (auto module = modules.module_of(identity, mapping, {1000, false}))
            held.push_back(std::move(module));
    }
    EXPECT_EQ(held.size(), LAGTRAP_UNWIND_MAX_TABLES / UserShares::parts);
    EXPECT_EQ(modules.totals().files_left_out.at(1000), LAGTRAP_UNWIND_MAX_TABLES - held.size());
    EXPECT_TRUE(modules.module_of(identity, mapping, {1001, false}));
}

}  // namespace
}  // namespace lagtrap::daemon::code_modules_test
