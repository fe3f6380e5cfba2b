#include "daemon/unwinding/process_spaces.hpp"

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

#include "tests/unit/daemon/sleeper.hpp"
#include "tests/unit/daemon/spaces_fixture.hpp"

namespace lagtrap::daemon::process_spaces_test {
namespace {

class ProcessSpacesTest : public SpacesFixture {};

TEST_F(ProcessSpacesTest, MappingsAreCutByLaterOnesOverThem) {
    map(1, 0x1000, 0x9000);
    map(1, 0xa000, 0xb000);
    publish();
    EXPECT_EQ(memory.seen(1), "1000-9000 a000-b000");
    map(1, 0x3000, 0x4000, "[uprobes]");
    publish();
    EXPECT_EQ(memory.seen(1), "1000-3000 3000-4000 4000-9000 a000-b000");
    map(1, 0x0, 0x3800, "[uprobes]");
    map(1, 0x8000, 0xc000, "[uprobes]");
    publish();
    EXPECT_EQ(memory.seen(1), "0-3800 3800-4000 4000-8000 8000-c000");
}

TEST_F(ProcessSpacesTest, TheFileOffsetGoesAlongWhenAMappingIsCut) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    struct stat facts {};
    ASSERT_EQ(::stat(self.c_str(), &facts), 0);
    map(1, 0x100000, 0x200000, self, 0, facts.st_ino);
    map(1, 0x140000, 0x150000);
    publish();
    auto job = next_job();
    ASSERT_TRUE(job);
    modules.take(make_table(std::move(*job), nullptr));
    publish();
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
    publish();
    EXPECT_EQ(memory.spaces.size(), 1U);
    EXPECT_EQ(memory.seen(3), "1000-2000");
    map(2, 0x5000, 0x6000);
    exec(3);
    map(3, 0x7000, 0x8000);
    publish();
    EXPECT_EQ(memory.seen(1), "1000-2000");
    EXPECT_EQ(memory.seen(2), "1000-2000 5000-6000");
    EXPECT_EQ(memory.seen(3), "7000-8000");
    EXPECT_EQ(memory.spaces.size(), 3U);
}

TEST_F(ProcessSpacesTest, WhatEndedLeavesNothing) {
    map(1, 0x1000, 0x2000);
    for (std::uint32_t pid = 2; pid < 100; ++pid) fork(pid, 1);
    publish();
    for (std::uint32_t pid = 1; pid < 100; ++pid) exit(pid);
    publish();
    EXPECT_TRUE(memory.processes.empty());
    EXPECT_TRUE(memory.spaces.empty());
    EXPECT_EQ(spaces.totals().processes, 0U);
}

TEST_F(ProcessSpacesTest, WhatCameAndWentBetweenTwoPublicationsIsNeverWritten) {
    fork(5, 4);
    exec(5);
    map(5, 0x1000, 0x2000, "/bin/true", 0, 7);
    exit(5);
    publish();
    EXPECT_EQ(memory.next_block, 0U);
    EXPECT_EQ(modules.waiting(), 0U);
}

TEST_F(ProcessSpacesTest, AThreadsForkAndExitChangeNothing) {
    map(1, 0x1000, 0x2000);
    change(LAGTRAP_RECORD_FORK, 1, 1, 9);
    change(LAGTRAP_RECORD_EXIT, 1, 1, 9);
    publish();
    EXPECT_EQ(memory.seen(1), "1000-2000");
}

TEST_F(ProcessSpacesTest, AScanTakesThePlaceOfEverything) {
    map(1, 0x1000, 0x2000);
    map(2, 0x1000, 0x2000);
    publish();
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
    spaces.begin_scan();
    scan.for_each([this](const lagtrap_record* record) { spaces.take(record); });
    spaces.end_scan();
    publish();
    EXPECT_EQ(memory.seen(1), "unknown");
    EXPECT_EQ(memory.seen(2), "4000-5000");
    EXPECT_EQ(memory.spaces.size(), 1U);
}

TEST_F(ProcessSpacesTest, WhatTheKernelSideAddedByItselfGoesWithAScan) {
    memory.processes[77] = 0;  // a child that began during a capture; its fork was lost
    spaces.begin_scan();
    spaces.end_scan();
    EXPECT_TRUE(memory.processes.empty());
}

TEST_F(ProcessSpacesTest, ProcessesAreDescribedWithWhatIsKnownOfTheirCode) {
    struct stat facts {};
    ASSERT_EQ(::stat("/bin/true", &facts), 0);
    map(1, 0x1000, 0x3000, "/bin/true", 0x5000, facts.st_ino);
    map(1, 0x8000, 0x9000);
    fork(2, 1);
    publish();
    make_all();
    map(3, 0x4000, 0x5000, "/gone/since", 0, 77);  // not published yet
    std::map<std::uint32_t, std::map<std::uint64_t, std::string>> paths;
    RecordBuffer described;
    EXPECT_EQ(spaces.describe(100, described), 0U);
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
    publish();  // the file cannot be found, but its name is known
    RecordBuffer again;
    EXPECT_EQ(spaces.describe(200, again), 0U);
    bool named = false;
    again.for_each([&](const lagtrap_record* record) {
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        if (mapping.pid == 3)
            named = std::string(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes) ==
                    "/gone/since";
    });
    EXPECT_TRUE(named);
}

TEST_F(ProcessSpacesTest, TheSameProgramUnderTwoNamesHasTheNameOfEachProcess) {
    const auto copy =
        std::filesystem::path(::testing::TempDir()) / fmt::format("copy-{}", ::getpid());
    std::filesystem::copy_file("/bin/true", copy,
                               std::filesystem::copy_options::overwrite_existing);
    struct stat one {
    }, other{};
    ASSERT_EQ(::stat("/bin/true", &one), 0);
    ASSERT_EQ(::stat(copy.c_str(), &other), 0);
    map(1, 0x1000, 0x3000, "/bin/true", 0, one.st_ino);
    map(2, 0x1000, 0x3000, copy.string(), 0, other.st_ino);
    publish();
    RecordBuffer described;
    EXPECT_EQ(spaces.describe(100, described), 0U);
    std::map<std::uint32_t, std::string> paths;
    described.for_each([&](const lagtrap_record* record) {
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        paths[mapping.pid] =
            std::string(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
    });
    EXPECT_EQ(paths[1], "/bin/true");
    EXPECT_EQ(paths[2], copy.string());
    std::filesystem::remove(copy);
}

TEST_F(ProcessSpacesTest, MappingsBeyondTheLimitAreLeftOutAndCounted) {
    for (std::uint64_t i = 0; i < LAGTRAP_UNWIND_MAX_MAPPINGS + 3; ++i)
        map(1, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x1000);
    publish();
    EXPECT_EQ(memory.spaces.at(memory.processes.at(1)).size(),
              std::size_t{LAGTRAP_UNWIND_MAX_MAPPINGS});
    EXPECT_EQ(spaces.totals().mappings_left_out, 3U);
}

TEST_F(ProcessSpacesTest, CodeMadeAtRunTimeIsJoinedAndKnownAgain) {
    map(1, 0x1000, 0x2000);
    map(1, 0x2000, 0x3000);
    publish();
    EXPECT_EQ(memory.seen(1), "1000-3000");
    const std::uint32_t written = memory.next_block;
    map(1, 0x1000, 0x2000);
    publish();
    EXPECT_EQ(memory.next_block, written);
}

TEST_F(ProcessSpacesTest, NoRoomForASpaceIsCountedAndTriedAgain) {
    memory.room_for_spaces = 0;
    map(1, 0x1000, 0x2000);
    publish();
    EXPECT_EQ(memory.seen(1), "unknown");
    EXPECT_EQ(spaces.totals().spaces_without_room, 1U);
    memory.room_for_spaces = 10;
    publish();
    EXPECT_EQ(memory.seen(1), "1000-2000");
}

// Each gets a table, or there is a known reason why not.
TEST_F(ProcessSpacesTest, TheFilesOfARealProcessGetTables) {
    const Sleeper process;
    take_scan_of(process.pid());
    publish();
    EXPECT_GE(make_all(), 3U);  // sleep, libc, the vDSO
    modules.for_each([](const CodeModule& module) {
        EXPECT_EQ(module.state, ModuleState::Ready) << module.path << ": " << module.problem;
    });
    publish();
    const auto& mappings = memory.spaces.at(memory.processes.at(process.pid()));
    EXPECT_TRUE(std::all_of(mappings.begin(), mappings.end(), [&](const auto& mapping) {
        return mapping.table >= LAGTRAP_UNWIND_FIRST_FILE && mapping.table_start != 0;
    }));
}

TEST_F(ProcessSpacesTest, WhoWaitsForAProcessIsToldWhenItsTablesAreThere) {
    const Sleeper process;
    const std::uint32_t pid = process.pid();
    EXPECT_EQ(spaces.files_to_come(pid), std::nullopt);
    spaces.prioritize(pid);
    take_scan_of(pid);
    const auto all = spaces.files_to_come(pid);
    ASSERT_TRUE(all);
    EXPECT_GT(*all, 1U);
    publish();  // at once: no other process makes it wait
    EXPECT_EQ(spaces.files_to_come(pid), *all);
    const auto job = next_job();
    ASSERT_TRUE(job);
    EXPECT_TRUE(job->request.watched);
    MadeTable failed;
    failed.module = job->module;
    failed.request = job->request;
    modules.take(std::move(failed));
    (void)make_all();
    EXPECT_EQ(spaces.files_to_come(pid), 1U) << "the kernel side is yet to be told";
    publish();
    EXPECT_EQ(spaces.files_to_come(pid), 0U);
    spaces.forget_priority(pid);
    exit(pid);
    EXPECT_EQ(spaces.files_to_come(pid), std::nullopt);
}

TEST_F(ProcessSpacesTest, EveryFileHasItsTurnThoughThereAreMoreThanMayBeOpen) {
    const std::filesystem::path folder =
        ::testing::TempDir() + "lagtrap-many-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    constexpr std::uint64_t files = 300;
    for (std::uint64_t i = 0; i < files; ++i) {
        const auto path = folder / std::to_string(i);
        std::ofstream(path) << "no program, and none like the others: " << i;
        struct stat facts {};
        ASSERT_EQ(::stat(path.c_str(), &facts), 0);
        map(1, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x1000, path, 0, facts.st_ino);
    }
    publish();
    EXPECT_EQ(make_all(), files);
    modules.for_each(
        [](const CodeModule& module) { EXPECT_EQ(module.state, ModuleState::FramePointers); });
    std::filesystem::remove_all(folder);
}

TEST_F(ProcessSpacesTest, WhatIsNoPathIsNoFile) {
    map(1, 0x1000, 0x2000, "", 0, 7);
    map(1, 0x3000, 0x4000, "[uprobes]");
    map(1, 0x5000, 0x6000, "//toolong", 0, 7);
    publish();
    EXPECT_EQ(modules.waiting(), 0U);
    for (const auto& mapping : memory.spaces.at(memory.processes.at(1)))
        EXPECT_EQ(mapping.table, std::uint32_t{LAGTRAP_UNWIND_UNREADABLE_FILE});
}

TEST_F(ProcessSpacesTest, TablesWithoutRoomComeInWhenOthersAreGivenUp) {
    const Sleeper process;
    take_scan_of(process.pid());
    publish();
    auto job = next_job();
    ASSERT_TRUE(job);
    const auto module = job->module;
    memory.table_room_bytes = 0;
    modules.take(make_table(std::move(*job), nullptr));
    EXPECT_EQ(module->state, ModuleState::NoRoom);
    EXPECT_EQ(memory.states.at(module->table), LAGTRAP_UNWIND_TABLE_NO_ROOM);
    while (auto other = next_job()) {
        MadeTable none;
        none.module = other->module;
        modules.take(std::move(none));
    }
    memory.table_room_bytes = 64 << 20;
    modules.sweep(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    job = next_job();
    ASSERT_TRUE(job);
    EXPECT_EQ(job->module, module);
}

// A just-in-time compiler that maps and unmaps all day; unmapping is not reported.
TEST_F(ProcessSpacesTest, CodeAtEverNewPlacesTakesNoMoreThanItsLimit) {
    for (std::uint64_t i = 1; i <= 200'000; ++i) map(1, 0x10000 * i, 0x10000 * i + 0x1000);
    EXPECT_LE(spaces.totals().bytes, limits.pieces * CodePiece{}.cost_bytes());
    EXPECT_EQ(spaces.totals().pieces_left_out.at(0), 200'000 - limits.pieces);
    const auto now = ProcessSpaces::Clock::now();
    ASSERT_EQ(spaces.next_outgrown(now), 1U);
    // It has two pieces by now.
    InspectedProcess left;
    lagtrap_mapping mapping{};
    mapping.header.type = LAGTRAP_RECORD_MAPPING;
    mapping.pid = 1;
    mapping.length = 0x1000;
    for (const std::uint64_t start : {0x10000, 0x70000}) {
        mapping.start = start;
        left.records.append(&mapping, sizeof(mapping), {});
    }
    spaces.read_anew(1, left, {}, now);
    EXPECT_EQ(spaces.next_outgrown(now), std::nullopt);
    EXPECT_EQ(spaces.totals().bytes, 2 * CodePiece{}.cost_bytes());
    publish();
    EXPECT_EQ(memory.seen(1), "10000-11000 70000-71000");
}

TEST_F(ProcessSpacesTest, AProgramIsChargedToTheUserWhoBeganIt) {
    users[2] = 7;
    map(1, 0x1000, 0x2000);
    fork(2, 1);  // still root's
    exec(2);
    for (std::uint64_t i = 1; i <= 5000; ++i) map(2, 0x10000 * i, 0x10000 * i + 0x1000);
    EXPECT_EQ(spaces.totals().pieces_left_out, (LeftOut{{7, 5000 - limits.pieces}}));
}

TEST_F(ProcessSpacesTest, AProcessThatBecameAnothersIsChargedToItsUser) {
    users[2] = 7;
    map(1, 0x1000, 0x2000);
    fork(2, 1);
    for (std::uint64_t i = 1; i <= 5000; ++i) map(2, 0x10000 * i, 0x10000 * i + 0x1000);
    EXPECT_FALSE(spaces.totals().pieces_left_out.contains(7));
    const auto now = ProcessSpaces::Clock::now();
    ASSERT_EQ(spaces.next_outgrown(now), 2U);
    spaces.read_anew(2, std::nullopt, {}, now);
    map(2, 0x90000000, 0x90001000);
    EXPECT_EQ(spaces.totals().pieces_left_out.at(7), 1U);
}

TEST_F(ProcessSpacesTest, WhatCanNotBeReadAnewIsTriedLessAndLessOften) {
    for (std::uint64_t i = 1; i <= 5000; ++i) map(1, 0x10000 * i, 0x10000 * i + 0x1000);
    auto now = ProcessSpaces::Clock::now();
    for (const auto pause :
         {std::chrono::seconds(1), std::chrono::seconds(2), std::chrono::seconds(4)}) {
        ASSERT_EQ(spaces.next_outgrown(now), 1U);
        spaces.read_anew(1, std::nullopt, {}, now);
        map(1, 0x90000000, 0x90001000);  // it is still too large
        EXPECT_EQ(spaces.next_outgrown(now + pause - std::chrono::milliseconds(1)), std::nullopt);
        now += pause;
    }
}

TEST_F(ProcessSpacesTest, WhatAScanCouldNotReadIsReadLater) {
    auto now = ProcessSpaces::Clock::now();
    spaces.begin_scan();
    spaces.note_unread(1);
    spaces.end_scan();
    ASSERT_EQ(spaces.next_outgrown(now), 1U);
    spaces.read_anew(1, std::nullopt, {}, now);
    now += std::chrono::seconds(1);
    ASSERT_EQ(spaces.next_outgrown(now), 1U)
        << "it could not be read the second time either, and is forgotten";
    InspectedProcess read;
    lagtrap_mapping mapping{};
    mapping.header.type = LAGTRAP_RECORD_MAPPING;
    mapping.pid = 1;
    mapping.start = 0x10000;
    mapping.length = 0x1000;
    read.records.append(&mapping, sizeof(mapping), {});
    spaces.read_anew(1, read, {}, now);
    publish();
    EXPECT_EQ(memory.seen(1), "10000-11000");
    EXPECT_EQ(spaces.next_outgrown(now + std::chrono::hours(1)), std::nullopt);
}

TEST_F(ProcessSpacesTest, ReadingAnewTakesAShareOfTheTimeHoweverManyNeedIt) {
    for (std::uint32_t pid = 1; pid <= 2; ++pid)
        for (std::uint64_t i = 1; i <= 5000; ++i) map(pid, 0x10000 * i, 0x10000 * i + 0x1000);
    const auto now = ProcessSpaces::Clock::now();
    const auto first = spaces.next_outgrown(now);
    ASSERT_TRUE(first);
    spaces.read_anew(*first, InspectedProcess{}, std::chrono::milliseconds(100), now);
    EXPECT_EQ(spaces.next_outgrown(now + std::chrono::milliseconds(1999)), std::nullopt);
    EXPECT_TRUE(spaces.next_outgrown(now + std::chrono::milliseconds(2000)));
}

TEST_F(ProcessSpacesTest, OneUsersMappingsLeaveRoomForOthers) {
    for (std::uint32_t pid = 100; pid < 200; ++pid) users[pid] = 7;
    users[300] = 8;
    set_limits({.pieces = 4096, .total_bytes = 4 << 20, .described_bytes = 1 << 20});
    for (std::uint32_t pid = 100; pid < 200; ++pid)
        for (std::uint64_t i = 1; i <= 400; ++i)
            map(pid, 0x10000 * i, 0x10000 * i + 0x1000,
                "/" + std::string(4000, 'n') + std::to_string(i), 0, i);
    EXPECT_LE(spaces.totals().bytes, 1U << 20);
    EXPECT_GT(spaces.totals().pieces_left_out.at(7), 0U);
    map(300, 0x10000, 0x11000);
    publish();
    EXPECT_EQ(memory.seen(300), "10000-11000");
    EXPECT_FALSE(spaces.totals().pieces_left_out.contains(8));
    for (std::uint32_t pid = 100; pid < 200; ++pid) exit(pid);
    EXPECT_EQ(spaces.totals().bytes, CodePiece{}.cost_bytes());
}

// Children share their parent's mappings, but a report repeats them for each child.
TEST_F(ProcessSpacesTest, ACaptureIsToldOfSoMuchAtMostAndOfWatchedProgramsFirst) {
    users[1] = 7;
    users[5000] = 8;
    set_limits({.pieces = 4096, .total_bytes = 16 << 20, .described_bytes = 1 << 20});
    spaces.set_watched({"/usr/bin/watched"});
    for (std::uint64_t i = 1; i <= 1000; ++i) map(1, 0x10000 * i, 0x10000 * i + 0x1000);
    for (std::uint32_t pid = 2; pid <= 200; ++pid) fork(pid, 1);
    map(5000, 0x1000, 0x2000, "/usr/bin/watched", 0, 7);
    RecordBuffer described;
    EXPECT_GT(spaces.describe(100, described), 0U);
    EXPECT_LE(described.size_bytes(), 1U << 20);
    std::uint32_t first = 0;
    described.for_each([&](const lagtrap_record* record) {
        if (first == 0) first = reinterpret_cast<const lagtrap_mapping*>(record)->pid;
    });
    EXPECT_EQ(first, 5000U);
}

TEST_F(ProcessSpacesTest, WhileMemoryIsShortLessIsKept) {
    set_limits({.pieces = 100'000, .total_bytes = 4 << 20, .described_bytes = 1 << 20});
    spaces.hold_memory(true);
    for (std::uint64_t i = 1; i <= 10'000; ++i) map(1, 0x10000 * i, 0x10000 * i + 0x1000);
    EXPECT_LE(spaces.totals().bytes, 1U << 20);
    spaces.hold_memory(false);
    for (std::uint64_t i = 1; i <= 10'000; ++i) map(1, 0x10000 * i, 0x10000 * i + 0x2000);
    EXPECT_GT(spaces.totals().bytes, 1U << 20);
}

}  // namespace
}  // namespace lagtrap::daemon::process_spaces_test
