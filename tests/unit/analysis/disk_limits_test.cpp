#include "analysis/disk_limits.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::disk_limits_test {
namespace {

constexpr std::uint32_t own_tid = 11;

class DiskLimits : public testing::Test {
  protected:
    DiskLimits() { recording_.names = {"", "vdb", "batch", "vdc"}; }
    void note(std::uint64_t at_ns, NameId disk = 1, std::uint32_t tid = own_tid) {
        DiskLimit limit;
        limit.at_ns = at_ns;
        limit.tid = tid;
        limit.disk = disk;
        limit.group = 2;
        limit.writes = true;
        limit.bytes_per_s = 4096;
        limit.operations_per_s = 30;
        recording_.disk_limits.push_back(limit);
    }
    void wait(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t since_ns = 0) {
        Interval wait;
        wait.begin_ns = begin_ns;
        wait.end_ns = end_ns;
        wait.since_ns = since_ns;
        wait.tid = own_tid;
        wait.state = ThreadState::Blocked;
        waits_.push_back(wait);
    }
    [[nodiscard]] HeldBack found() const { return held_back_in(recording_, waits_); }

    Recording recording_;
    std::vector<Interval> waits_;
};

TEST_F(DiskLimits, AreThoseNotedInMostOfTheWaits) {
    note(100);
    wait(100, 160);
    EXPECT_EQ(found().disk, "vdb");
    EXPECT_EQ(found().group, "batch");
    EXPECT_TRUE(found().writes);
    EXPECT_EQ(found().bytes_per_s, 4096U);
    EXPECT_EQ(found().operations_per_s, 30U);
    wait(200, 240);
    EXPECT_EQ(found().disk, "vdb") << "60 %";
    waits_.back().end_ns = 241;
    EXPECT_EQ(found().disk, "");
    note(200, 3);
    EXPECT_EQ(found().disk, "") << "two disks, none for most of the time";
}

TEST_F(DiskLimits, OfOtherThreadsAndTimesDoNotCount) {
    wait(100, 160);
    EXPECT_EQ(found().disk, "");
    note(99);
    EXPECT_EQ(found().disk, "");
    note(100, 1, own_tid + 1);
    EXPECT_EQ(found().disk, "");
    note(160);
    EXPECT_EQ(found().disk, "");
    waits_.back().end_ns = 161;
    EXPECT_EQ(found().disk, "vdb");
}

TEST_F(DiskLimits, NotedAtTheBeginOfAWaitCountForItsRest) {
    note(50);
    wait(100, 160, 50);
    EXPECT_EQ(found().disk, "vdb");
    waits_.back().since_ns = 51;
    EXPECT_EQ(found().disk, "");
}

}  // namespace
}  // namespace lagtrap::analysis::disk_limits_test
