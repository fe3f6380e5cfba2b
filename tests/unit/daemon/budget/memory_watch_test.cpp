// Memory limit and use of a control group, in either version of the interface, and what is disabled
// near the limit.
#include "daemon/budget/memory_watch.hpp"

#include <gmock/gmock.h>

#include "core/files.hpp"
#include "daemon/budget/memory_group.hpp"

namespace lagtrap::daemon::memory_watch_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t mib = 1 << 20;

// Files as the kernel would show them.
class Groups : public testing::Test {
  protected:
    ~Groups() override { fs::remove_all(root_); }
    void write(const fs::path& name, const std::string& content) {
        fs::create_directories((root_ / name).parent_path());
        ASSERT_TRUE(write_file_durably(root_ / name, content));
    }
    void write_unit(const fs::path& folder, const std::string& limit, std::uint64_t used_bytes) {
        write(folder / "memory.max", limit + "\n");
        write(folder / "memory.high", "max\n");
        write(folder / "memory.current", std::to_string(used_bytes) + "\n");
        write(folder / "memory.stat", "anon 5\nactive_file 1048576\ninactive_file 2097152\n");
    }
    std::string limited_to(std::uint64_t bytes) { return std::to_string(bytes); }

    fs::path root_ = fs::path(testing::TempDir()) / ("groups-" + std::to_string(::getpid()));
};

constexpr const char* in_a_unit = "0::/system.slice/lagtrapd.service\n";

TEST_F(Groups, PagesOfFilesAreNotCounted) {
    write_unit("system.slice/lagtrapd.service", limited_to(256 * mib), 100 * mib);
    const auto group = MemoryGroup::find(in_a_unit, root_);
    ASSERT_TRUE(group);
    const auto use = group->use();
    ASSERT_TRUE(use);
    EXPECT_EQ(use->limit_bytes, 256 * mib);
    EXPECT_EQ(use->used_bytes, 97 * mib);
}

TEST_F(Groups, TheLowerOfBothLimitsCounts) {
    write_unit("system.slice/lagtrapd.service", limited_to(256 * mib), 100 * mib);
    write("system.slice/lagtrapd.service/memory.high", limited_to(128 * mib));
    const auto use = MemoryGroup::find(in_a_unit, root_)->use();
    ASSERT_TRUE(use);
    EXPECT_EQ(use->limit_bytes, 128 * mib);
}

TEST_F(Groups, AGroupAroundCanBeTheTighterOne) {
    write_unit("system.slice/lagtrapd.service", limited_to(256 * mib), 10 * mib);
    write_unit("system.slice", limited_to(512 * mib), 500 * mib);
    const auto use = MemoryGroup::find(in_a_unit, root_)->use();
    ASSERT_TRUE(use);
    EXPECT_EQ(use->limit_bytes, 512 * mib);
    EXPECT_EQ(use->room_bytes(), 15 * mib);
}

TEST_F(Groups, WithoutALimitThereIsNothingToSay) {
    write_unit("system.slice/lagtrapd.service", "max", 100 * mib);
    const auto group = MemoryGroup::find(in_a_unit, root_);
    ASSERT_TRUE(group);
    EXPECT_FALSE(group->use());
}

TEST_F(Groups, VersionOneIsRead) {
    const fs::path folder = "memory/unit";
    write(folder / "memory.limit_in_bytes", limited_to(64 * mib));
    write(folder / "memory.usage_in_bytes", limited_to(60 * mib));
    write(folder / "memory.stat",
          "active_file 7\ntotal_active_file 1048576\ntotal_inactive_file 1048576\n");
    write(folder / "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    // The parent group expresses "no limit" as a number.
    write("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("memory/memory.usage_in_bytes", "1\n");
    write("memory/memory.stat", "\n");
    const auto group = MemoryGroup::find("8:pids:/\n4:memory,hugetlb:/unit\n0::/\n", root_);
    ASSERT_TRUE(group);
    const auto use = group->use();
    ASSERT_TRUE(use);
    EXPECT_EQ(use->limit_bytes, 64 * mib);
    EXPECT_EQ(use->used_bytes, 58 * mib);
    EXPECT_EQ(group->killed(), 3U);
}

TEST_F(Groups, NoGroupsAreNoError) {
    EXPECT_FALSE(MemoryGroup::find("", root_));
    EXPECT_FALSE(MemoryGroup::find("0::/gone\n", root_));
    EXPECT_FALSE(MemoryGroup::find("0::/../outside\n", root_));
    EXPECT_FALSE(MemoryGroup::find("nonsense", root_));
}

MemoryUse used_of(std::uint64_t limit_mib, std::uint64_t used_mib) {
    return {limit_mib * mib, used_mib * mib};
}

TEST(MemoryBudget, TablesGoFirstAndMergesWhenItGetsTighter) {
    MemoryBudget budget;
    EXPECT_EQ(budget.look(used_of(256, 191)), (MemoryHolds{false, false}));
    EXPECT_EQ(budget.look(used_of(256, 193)), (MemoryHolds{true, false}));
    EXPECT_EQ(budget.look(used_of(256, 225)), (MemoryHolds{true, true}));
}

TEST(MemoryBudget, ALargeLimitIsUsedFurther) {
    MemoryBudget budget;
    EXPECT_EQ(budget.look(used_of(4096, 3967)), (MemoryHolds{false, false}));
    EXPECT_EQ(budget.look(used_of(4096, 3969)), (MemoryHolds{true, false}));
}

TEST(MemoryBudget, WhatIsGivenUpComesBackWhenThereIsHalfAsMuchAgain) {
    MemoryBudget budget;
    EXPECT_EQ(budget.look(used_of(256, 230)), (MemoryHolds{true, true}));
    EXPECT_EQ(budget.look(used_of(256, 210)), (MemoryHolds{true, true}));
    EXPECT_EQ(budget.look(used_of(256, 200)), (MemoryHolds{true, false}));
    EXPECT_EQ(budget.look(used_of(256, 165)), (MemoryHolds{true, false}));
    EXPECT_EQ(budget.look(used_of(256, 160)), (MemoryHolds{false, false}));
    EXPECT_EQ(budget.look(used_of(256, 230)), (MemoryHolds{true, true}));
    EXPECT_EQ(budget.look(std::nullopt), (MemoryHolds{false, false}));
}

// A watch on a group whose files change.
class Watch : public Groups {
  protected:
    void SetUp() override { use(10 * mib); }
    void use(std::uint64_t used_bytes) {
        write_unit("unit", limited_to(256 * mib), used_bytes);
        write("unit/memory.events", "low 0\noom_kill " + std::to_string(killed_) + "\n");
    }
    MemoryWatch begin() {
        return {MemoryGroup::find("0::/unit\n", root_),
                Log([this](Log::Level level, const std::string& line) {
                    (level == Log::Level::Warning ? warned_ : informed_).push_back(line);
                })};
    }
    std::vector<std::string> warned_, informed_;
    int killed_ = 0;
};

TEST_F(Watch, SaysWhatItHolds) {
    use(250 * mib);
    MemoryWatch watch = begin();
    EXPECT_EQ(watch.look(3 * mib), (MemoryHolds{true, true}));
    EXPECT_THAT(
        warned_,
        testing::ElementsAre(
            testing::HasSubstr("unwind tables, so their stacks end early (247.0 MiB of 256.0 MiB"),
            testing::HasSubstr("recordings wait to be merged")));
    EXPECT_THAT(watch.disabled_now(), SizeIs(1));
    EXPECT_EQ(watch.status().disabled_count, 2U);
    EXPECT_EQ(watch.look(3 * mib), (MemoryHolds{true, true}));
    EXPECT_THAT(warned_, SizeIs(2)) << "nothing changed";
    use(10 * mib);
    EXPECT_EQ(watch.look(3 * mib), MemoryHolds{});
    EXPECT_THAT(informed_, testing::ElementsAre(testing::HasSubstr("for unwind tables again (7.0"),
                                                testing::HasSubstr("for merges again (7.0")));
    EXPECT_EQ(watch.status().disabled_count, 2U);
}

TEST_F(Watch, WithRoomNothingIsSaid) {
    MemoryWatch watch = begin();
    EXPECT_EQ(watch.look(3 * mib), MemoryHolds{});
    EXPECT_THAT(warned_, IsEmpty());
    EXPECT_THAT(watch.disabled_now(), IsEmpty());
    ASSERT_TRUE(watch.status().use);
    EXPECT_EQ(watch.status().use->limit_bytes, 256 * mib);
    EXPECT_EQ(watch.status().mapping_bytes, 3 * mib);
    EXPECT_EQ(watch.interval(), std::chrono::seconds(2));
}

TEST_F(Watch, WithoutAGroupNothingIsLookedAt) {
    MemoryWatch watch(std::nullopt, Log());
    EXPECT_EQ(watch.interval(), std::nullopt);
    EXPECT_EQ(watch.look(3 * mib), MemoryHolds{});
    EXPECT_FALSE(watch.status().use);
}

TEST_F(Watch, TellsOfProcessesThatTheKernelEnded) {
    killed_ = 2;
    use(10 * mib);
    MemoryWatch watch = begin();
    (void)watch.look(0);
    EXPECT_EQ(watch.status().killed, 0U) << "those before the daemon are not counted";
    killed_ = 3;
    use(10 * mib);
    (void)watch.look(0);
    EXPECT_EQ(watch.status().killed, 1U);
    (void)watch.look(0);
    EXPECT_THAT(warned_, testing::ElementsAre(testing::HasSubstr("processes of the unit")));
}

TEST_F(Groups, WhatFillsAGroupIsToldApart) {
    write_unit("system.slice/lagtrapd.service", limited_to(256 * mib), 100 * mib);
    write("system.slice/lagtrapd.service/memory.stat",
          "anon_thp 1\nanon 5242880\nfile 8388608\nfile_mapped 7\nshmem 2097152\n");
    write_unit("system.slice", limited_to(512 * mib), 400 * mib);
    const auto fill = MemoryGroup::find(in_a_unit, root_)->fill();
    ASSERT_TRUE(fill);
    EXPECT_EQ(fill->folder, root_ / "system.slice");
    EXPECT_EQ(fill->path, "/system.slice");
    write_unit("system.slice", limited_to(512 * mib), 300 * mib);
    const auto own = MemoryGroup::find(in_a_unit, root_)->fill();
    ASSERT_TRUE(own);
    EXPECT_EQ(own->path, "/system.slice/lagtrapd.service");
    EXPECT_EQ(own->limit_bytes, 256 * mib);
    EXPECT_EQ(own->used_bytes, 100 * mib) << "with pages of files";
    EXPECT_EQ(own->room_bytes(), 156 * mib);
    EXPECT_EQ(own->anonymous_bytes, 5 * mib);
    EXPECT_EQ(own->shared_bytes, 2 * mib);
    EXPECT_EQ(own->file_bytes, 6 * mib) << "without what is shared";
}

TEST_F(Groups, AFullGroupHasNoRoom) {
    write_unit("system.slice/lagtrapd.service", limited_to(10 * mib), 20 * mib);
    const auto group = MemoryGroup::find(in_a_unit, root_);
    ASSERT_TRUE(group->use());
    EXPECT_EQ(group->use()->room_bytes(), 0U);
    EXPECT_EQ(group->fill()->room_bytes(), 0U);
    write("system.slice/lagtrapd.service/memory.current", "1048576\n");
    EXPECT_EQ(group->use()->used_bytes, 0U) << "less than its pages of files";
    write("system.slice/lagtrapd.service/memory.max", "max\n");
    EXPECT_FALSE(group->fill());
}

TEST_F(Groups, KilledProcessesAreCountedForTheGroup) {
    write_unit("system.slice/lagtrapd.service", "max", mib);
    const auto group = MemoryGroup::find(in_a_unit, root_);
    EXPECT_EQ(group->killed(), 0U);
    write("system.slice/lagtrapd.service/memory.events",
          "oom 9\noom_kill_group 8\noom_kill 4\noom_group_kill 7\n");
    EXPECT_EQ(group->killed(), 4U);
}

}  // namespace
}  // namespace lagtrap::daemon::memory_watch_test
