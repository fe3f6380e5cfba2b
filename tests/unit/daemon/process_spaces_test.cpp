#include "daemon/process_spaces.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon {
namespace {

// Keeps what the kernel side would see.
class Memory : public UnwindMemory {
  public:
    std::map<std::uint32_t, lagtrap_unwind_table_state> states;
    std::map<std::uint32_t, std::vector<lagtrap_unwind_mapping>> spaces;  // by first block
    std::map<std::uint32_t, std::uint32_t> processes;                     // first block by process
    std::uint32_t next_block = 0, next_table = LAGTRAP_UNWIND_FIRST_FILE;
    std::size_t room_for_spaces = 1000;
    std::uint64_t table_room_bytes = 64 << 20;
    std::uint64_t table_bytes = 0;
    std::map<std::uint32_t, std::uint64_t> bytes_of_table;

    std::optional<std::uint32_t> new_table() override { return next_table++; }
    void set_state(std::uint32_t table, lagtrap_unwind_table_state state) override { states[table] = state; }
    bool fill(std::uint32_t table, const binaries::UnwindTable& content) override {
        if (table_bytes + content.size_bytes() > table_room_bytes) return false;
        table_bytes += bytes_of_table[table] = content.size_bytes();
        states[table] = LAGTRAP_UNWIND_TABLE_READY;
        return true;
    }
    void drop_table(std::uint32_t table) override {
        table_bytes -= bytes_of_table[table];
        states.erase(table);
    }
    std::optional<lagtrap_unwind_space> add_space(std::span<const lagtrap_unwind_mapping> mappings) override {
        if (spaces.size() >= room_for_spaces) return std::nullopt;
        spaces[next_block].assign(mappings.begin(), mappings.end());
        return lagtrap_unwind_space{next_block++, static_cast<std::uint32_t>(mappings.size())};
    }
    void drop_space(lagtrap_unwind_space space) override { spaces.erase(space.first_block); }
    bool set_process(std::uint32_t pid, lagtrap_unwind_space space) override {
        processes[pid] = space.first_block;
        return true;
    }
    void drop_process(std::uint32_t pid) override { processes.erase(pid); }
    void drop_all_processes() override { processes.clear(); }
    std::uint64_t used_bytes() const override { return table_bytes; }
    std::uint64_t budget_bytes() const override { return table_room_bytes; }

    // "1000-3000 5000-6000", the mappings of a process.
    std::string seen(std::uint32_t pid) const {
        const auto process = processes.find(pid);
        if (process == processes.end()) return "unknown";
        std::string text;
        char piece[64];
        for (const auto& mapping : spaces.at(process->second)) {
            std::snprintf(piece, sizeof(piece), "%s%llx-%llx", text.empty() ? "" : " ", mapping.start,
                          mapping.start + mapping.length);
            text += piece;
        }
        return text;
    }
};

class ProcessSpacesTest : public ::testing::Test {
  protected:
    Memory memory;
    CodeModules modules{memory, "/proc"};
    ProcessSpaces spaces{memory, modules};

    void map(std::uint32_t pid, std::uint64_t start, std::uint64_t end, const std::string& path = "//anon",
             std::uint64_t file_offset = 0, std::uint64_t inode = 0) {
        std::vector<char> bytes(sizeof(lagtrap_mapping) + path.size());
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.header.size_bytes = static_cast<std::uint32_t>(bytes.size());
        mapping.pid = pid;
        mapping.start = start;
        mapping.length = end - start;
        mapping.file_offset = file_offset;
        mapping.inode = inode;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        std::memcpy(bytes.data(), &mapping, sizeof(mapping));
        std::memcpy(bytes.data() + sizeof(mapping), path.data(), path.size());
        spaces.take(reinterpret_cast<const lagtrap_record*>(bytes.data()));
    }
    void change(lagtrap_record_type type, std::uint32_t pid, std::uint32_t parent_pid, std::uint32_t tid = 0) {
        lagtrap_task_change record{};
        record.header.type = static_cast<std::uint16_t>(type);
        record.header.size_bytes = sizeof(record);
        record.pid = pid;
        record.tid = tid != 0 ? tid : pid;
        record.parent_pid = parent_pid;
        record.header.at_ns = 50;
        spaces.take(&record.header);
    }
    void fork(std::uint32_t pid, std::uint32_t parent_pid) { change(LAGTRAP_RECORD_FORK, pid, parent_pid); }
    void exit(std::uint32_t pid) { change(LAGTRAP_RECORD_EXIT, pid, pid); }
    void exec(std::uint32_t pid) {
        lagtrap_name name{};
        name.header.type = LAGTRAP_RECORD_NAME;
        name.header.size_bytes = sizeof(name);
        name.pid = name.tid = pid;
        name.by_exec = 1;
        spaces.take(&name.header);
    }
};

TEST_F(ProcessSpacesTest, MappingsAreCutByLaterOnesOverThem) {
    map(1, 0x1000, 0x9000);
    map(1, 0xa000, 0xb000);
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "1000-9000 a000-b000");
    map(1, 0x3000, 0x4000, "[uprobes]");
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "1000-3000 3000-4000 4000-9000 a000-b000");
    map(1, 0x0, 0x3800, "[uprobes]");
    map(1, 0x8000, 0xc000, "[uprobes]");
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "0-3800 3800-4000 4000-8000 8000-c000");
}

TEST_F(ProcessSpacesTest, TheFileOffsetGoesAlongWhenAMappingIsCut) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    struct stat facts {};
    ASSERT_EQ(::stat(self.c_str(), &facts), 0);
    map(1, 0x100000, 0x200000, self, 0, facts.st_ino);
    map(1, 0x140000, 0x150000);
    spaces.publish();
    auto job = modules.next_job();
    ASSERT_TRUE(job);
    modules.take(make_table(std::move(*job), nullptr));
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "100000-140000 140000-150000 150000-200000");
    const auto& mappings = memory.spaces.at(memory.processes.at(1));
    EXPECT_EQ(memory.states.at(mappings[0].table), LAGTRAP_UNWIND_TABLE_READY);
    EXPECT_EQ(mappings[0].table, mappings[2].table);
    EXPECT_EQ(mappings[1].table, std::uint32_t{LAGTRAP_UNWIND_RUNTIME_CODE});
    EXPECT_EQ(mappings[0].table_start, mappings[2].table_start);
}

TEST_F(ProcessSpacesTest, ForkedProcessesShareUntilOneMapsOrBeginsAnotherProgram) {
    map(1, 0x1000, 0x2000);
    fork(2, 1);
    fork(3, 2);
    spaces.publish();
    EXPECT_EQ(memory.spaces.size(), 1U);
    EXPECT_EQ(memory.seen(3), "1000-2000");
    map(2, 0x5000, 0x6000);
    exec(3);
    map(3, 0x7000, 0x8000);
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "1000-2000");
    EXPECT_EQ(memory.seen(2), "1000-2000 5000-6000");
    EXPECT_EQ(memory.seen(3), "7000-8000");
    EXPECT_EQ(memory.spaces.size(), 3U);
}

TEST_F(ProcessSpacesTest, WhatEndedLeavesNothing) {
    map(1, 0x1000, 0x2000);
    for (std::uint32_t pid = 2; pid < 100; ++pid) fork(pid, 1);
    spaces.publish();
    for (std::uint32_t pid = 1; pid < 100; ++pid) exit(pid);
    spaces.publish();
    EXPECT_TRUE(memory.processes.empty());
    EXPECT_TRUE(memory.spaces.empty());
    EXPECT_EQ(spaces.totals().processes, 0U);
}

TEST_F(ProcessSpacesTest, WhatCameAndWentBetweenTwoPublicationsIsNeverWritten) {
    fork(5, 4);
    exec(5);
    map(5, 0x1000, 0x2000, "/bin/true", 0, 7);
    exit(5);
    spaces.publish();
    EXPECT_EQ(memory.next_block, 0U);
    EXPECT_EQ(modules.waiting(), 0U);
}

TEST_F(ProcessSpacesTest, AThreadsForkAndExitChangeNothing) {
    map(1, 0x1000, 0x2000);
    change(LAGTRAP_RECORD_FORK, 1, 1, 9);
    change(LAGTRAP_RECORD_EXIT, 1, 1, 9);
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "1000-2000");
}

TEST_F(ProcessSpacesTest, AScanTakesThePlaceOfEverything) {
    map(1, 0x1000, 0x2000);
    map(2, 0x1000, 0x2000);
    spaces.publish();
    RecordBuffer scan;
    lagtrap_process process{};
    process.header.type = LAGTRAP_RECORD_PROCESS;
    process.pid = 2;
    scan.append(&process, sizeof(process), {});
    lagtrap_mapping mapping{};
    mapping.header.type = LAGTRAP_RECORD_MAPPING;
    mapping.pid = 2;
    mapping.start = 0x4000;
    mapping.length = 0x1000;
    scan.append(&mapping, sizeof(mapping), {});
    spaces.start_over(scan);
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "unknown");
    EXPECT_EQ(memory.seen(2), "4000-5000");
    EXPECT_EQ(memory.spaces.size(), 1U);
}

TEST_F(ProcessSpacesTest, WhatTheKernelSideAddedByItselfGoesWithAScan) {
    memory.processes[77] = 0;  // a child that began while a capture ran; its fork was lost
    spaces.start_over(RecordBuffer());
    EXPECT_TRUE(memory.processes.empty());
}

TEST_F(ProcessSpacesTest, ProcessesAreDescribedWithWhatIsKnownOfTheirCode) {
    struct stat facts {};
    ASSERT_EQ(::stat("/bin/true", &facts), 0);
    map(1, 0x1000, 0x3000, "/bin/true", 0x5000, facts.st_ino);
    map(1, 0x8000, 0x9000);
    fork(2, 1);
    spaces.publish();
    map(3, 0x4000, 0x5000, "/gone/since", 0, 77);  // not published yet
    std::map<std::uint32_t, std::map<std::uint64_t, std::string>> paths;
    RecordBuffer described;
    spaces.describe(100, described);
    described.for_each([&](const lagtrap_record* record) {
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        paths[mapping.pid][mapping.start] =
            std::string(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
        EXPECT_EQ(mapping.header.at_ns, 100U);
        if (mapping.start != 0x1000) return;
        EXPECT_EQ(mapping.length, 0x2000U);
        EXPECT_EQ(mapping.file_offset, 0x5000U);
        EXPECT_EQ(mapping.inode, facts.st_ino);
        EXPECT_GT(mapping.build_id_bytes, 0);
    });
    const std::map<std::uint64_t, std::string> both{{0x1000, "/bin/true"}, {0x8000, "//anon"}};
    EXPECT_EQ(paths[1], both);
    EXPECT_EQ(paths[2], both);
    EXPECT_EQ(paths[3], (std::map<std::uint64_t, std::string>{{0x4000, "/gone/since"}}));
    spaces.publish();  // the file is nowhere to be found, its name is known all the same
    RecordBuffer again;
    spaces.describe(200, again);
    bool named = false;
    again.for_each([&](const lagtrap_record* record) {
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        if (mapping.pid == 3)
            named = std::string(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes) == "/gone/since";
    });
    EXPECT_TRUE(named);
}

TEST_F(ProcessSpacesTest, TheSameProgramUnderTwoNamesHasTheNameOfEachProcess) {
    const auto copy = std::filesystem::path(::testing::TempDir()) / fmt::format("copy-{}", ::getpid());
    std::filesystem::copy_file("/bin/true", copy, std::filesystem::copy_options::overwrite_existing);
    struct stat one {
    }, other{};
    ASSERT_EQ(::stat("/bin/true", &one), 0);
    ASSERT_EQ(::stat(copy.c_str(), &other), 0);
    map(1, 0x1000, 0x3000, "/bin/true", 0, one.st_ino);
    map(2, 0x1000, 0x3000, copy.string(), 0, other.st_ino);
    spaces.publish();
    RecordBuffer described;
    spaces.describe(100, described);
    std::map<std::uint32_t, std::string> paths;
    described.for_each([&](const lagtrap_record* record) {
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        paths[mapping.pid] = std::string(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
    });
    EXPECT_EQ(paths[1], "/bin/true");
    EXPECT_EQ(paths[2], copy.string());
    std::filesystem::remove(copy);
}

TEST_F(ProcessSpacesTest, MappingsBeyondTheLimitAreLeftOutAndCounted) {
    for (std::uint64_t i = 0; i < LAGTRAP_UNWIND_MAX_MAPPINGS + 3; ++i)
        map(1, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x1000);
    spaces.publish();
    EXPECT_EQ(memory.spaces.at(memory.processes.at(1)).size(), std::size_t{LAGTRAP_UNWIND_MAX_MAPPINGS});
    EXPECT_EQ(spaces.totals().mappings_left_out, 3U);
}

TEST_F(ProcessSpacesTest, CodeMadeAtRunTimeIsJoinedAndKnownAgain) {
    map(1, 0x1000, 0x2000);
    map(1, 0x2000, 0x3000);
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "1000-3000");
    const std::uint32_t written = memory.next_block;
    map(1, 0x1000, 0x2000);
    spaces.publish();
    EXPECT_EQ(memory.next_block, written);
}

TEST_F(ProcessSpacesTest, NoRoomForASpaceIsCountedAndTriedAgain) {
    memory.room_for_spaces = 0;
    map(1, 0x1000, 0x2000);
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "unknown");
    EXPECT_EQ(spaces.totals().spaces_without_room, 1U);
    memory.room_for_spaces = 10;
    spaces.publish();
    EXPECT_EQ(memory.seen(1), "1000-2000");
}

// The files of this very process: every table gets made, or it is known why not.
TEST_F(ProcessSpacesTest, TheFilesOfARealProcessGetTables) {
    ProcessScan scan;
    scan.add(static_cast<std::uint32_t>(::getpid()));
    spaces.start_over(scan.records());
    spaces.publish();
    std::size_t made = 0;
    while (auto job = modules.next_job()) {
        modules.take(make_table(std::move(*job), nullptr));
        ++made;
    }
    EXPECT_GE(made, 3U);  // the test, libc, the vDSO
    modules.for_each([](const CodeModule& module) {
        EXPECT_EQ(module.state, ModuleState::Ready) << module.path << ": " << module.problem;
    });
    spaces.publish();
    const auto& mappings = memory.spaces.at(memory.processes.at(static_cast<std::uint32_t>(::getpid())));
    EXPECT_TRUE(std::all_of(mappings.begin(), mappings.end(), [&](const auto& mapping) {
        return mapping.table >= LAGTRAP_UNWIND_FIRST_FILE && mapping.table_start != 0;
    }));
}

TEST_F(ProcessSpacesTest, EveryFileHasItsTurnThoughThereAreMoreThanMayBeOpen) {
    const std::filesystem::path folder = ::testing::TempDir() + "lagtrap-many-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    constexpr std::uint64_t files = 300;
    for (std::uint64_t i = 0; i < files; ++i) {
        const auto path = folder / std::to_string(i);
        std::ofstream(path) << "no program, and none like the others: " << i;
        struct stat facts {};
        ASSERT_EQ(::stat(path.c_str(), &facts), 0);
        map(1, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x1000, path, 0, facts.st_ino);
    }
    spaces.publish();
    std::size_t done = 0;
    for (; auto job = modules.next_job(); ++done) modules.take(make_table(std::move(*job), nullptr));
    EXPECT_EQ(done, files);
    modules.for_each([](const CodeModule& module) { EXPECT_EQ(module.state, ModuleState::FramePointers); });
    std::filesystem::remove_all(folder);
}

TEST_F(ProcessSpacesTest, WhatIsNoPathIsNoFile) {
    map(1, 0x1000, 0x2000, "", 0, 7);
    map(1, 0x3000, 0x4000, "[uprobes]");
    map(1, 0x5000, 0x6000, "//toolong", 0, 7);
    spaces.publish();
    EXPECT_EQ(modules.waiting(), 0U);
    for (const auto& mapping : memory.spaces.at(memory.processes.at(1)))
        EXPECT_EQ(mapping.table, std::uint32_t{LAGTRAP_UNWIND_UNREADABLE_FILE});
}

TEST_F(ProcessSpacesTest, TablesWithoutRoomComeInWhenOthersAreGivenUp) {
    ProcessScan scan;
    scan.add(static_cast<std::uint32_t>(::getpid()));
    spaces.start_over(scan.records());
    spaces.publish();
    auto job = modules.next_job();
    ASSERT_TRUE(job);
    const auto module = job->module;
    memory.table_room_bytes = 0;
    modules.take(make_table(std::move(*job), nullptr));
    EXPECT_EQ(module->state, ModuleState::NoRoom);
    EXPECT_EQ(memory.states.at(module->table), LAGTRAP_UNWIND_TABLE_NO_ROOM);
    while (auto other = modules.next_job()) other.reset();
    memory.table_room_bytes = 64 << 20;
    modules.sweep(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    job = modules.next_job();
    ASSERT_TRUE(job);
    EXPECT_EQ(job->module, module);
}

}  // namespace
}  // namespace lagtrap::daemon
