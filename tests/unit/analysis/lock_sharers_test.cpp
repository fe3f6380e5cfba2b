#include "analysis/lock_sharers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::lock_sharers_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint32_t own_pid = 10, waiting_tid = 11, holder_tid = 12;

class LockSharers : public testing::Test {
  protected:
    LockSharers() {
        made_.recording.end_ns = 1000 * ms;
        made_.recording.has_scheduling = true;
        blocked(own_pid, waiting_tid, {"main", "read_table", "k:futex_wait"});
        blocked(own_pid, holder_tid, in_place);
    }
    // From 100 to 200 ms.
    Thread& blocked(std::uint32_t pid, std::uint32_t tid, const std::vector<std::string>& stack) {
        Thread& made = made_.thread(pid, tid);
        StateChange change;
        change.state = ThreadState::Blocked;
        change.at_ns = 100 * ms;
        change.stack = made_.stack(stack);
        made.changes = {change};
        change.state = ThreadState::Running;
        change.at_ns = 200 * ms;
        made.changes.push_back(change);
        return made;
    }
    std::uint32_t others(const std::string& function, std::uint64_t from_ms = 120,
                         std::uint64_t to_ms = 180) {
        Interval wait;
        wait.tid = waiting_tid;
        wait.begin_ns = from_ms * ms;
        wait.end_ns = to_ms * ms;
        CallPlace place;
        place.function = function;
        place.module = "/usr/bin/app";
        return other_threads_in(made_.recording, place, {wait},
                                *made_.recording.find_thread(holder_tid));
    }
    const std::vector<std::string> in_place{"main", "read_table", "usleep", "k:hrtimer_nanosleep"};
    test::MadeRecording made_;
};

TEST_F(LockSharers, ThreadsThatSleepThereMayShareIt) {
    EXPECT_EQ(others("read_table"), 0U) << "the holder and the waiting thread do not count";
    blocked(own_pid, 13, in_place);
    blocked(own_pid, 14, in_place);
    EXPECT_EQ(others("read_table"), 2U);
    EXPECT_EQ(others("read_table", 200, 300), 0U) << "later";
    EXPECT_EQ(others("write_table"), 0U);
    EXPECT_EQ(others(""), 0U);
    blocked(20, 20, in_place);
    EXPECT_EQ(others("read_table"), 2U) << "another process does not count";
}

TEST_F(LockSharers, ThreadsThatWaitForTheLockDoNotHaveIt) {
    blocked(own_pid, 13, {"main", "read_table", "pthread_rwlock_rdlock", "k:futex_wait"});
    EXPECT_EQ(others("read_table"), 0U);
    blocked(own_pid, 14, {"main", "read_table", "pthread_mutex_lock", "k:futex_wait"});
    EXPECT_EQ(others("read_table"), 1U);
}

TEST_F(LockSharers, ThreadsThatComputeThereMayShareIt) {
    Thread& busy = made_.thread(own_pid, 13);
    busy.samples = {{119 * ms, made_.stack({"main", "read_table", "scan"}), 0},
                    {150 * ms, made_.stack({"main", "k:read_table"}), 0},
                    {151 * ms, made_.stack({"main", "!/usr/lib/other.so!read_table"}), 0},
                    {180 * ms, made_.stack({"main", "read_table"}), 0}};
    EXPECT_EQ(others("read_table"), 0U) << "before, after, or another function of that name";
    busy.samples[2].stack = busy.samples[0].stack;
    EXPECT_EQ(others("read_table"), 1U);
}

TEST_F(LockSharers, ProcessesWithTooManyThreadsAreNotSearched) {
    for (std::uint32_t tid = 100; tid < 300; ++tid) blocked(own_pid, tid, in_place);
    EXPECT_EQ(others("read_table"), 200U);
    blocked(own_pid, 300, in_place);
    EXPECT_EQ(others("read_table"), 0U);
}

TEST_F(LockSharers, FilesWithoutNamesAreNoPlace) {
    blocked(own_pid, 13, {"main", "?:/usr/bin/app", "k:hrtimer_nanosleep"});
    EXPECT_EQ(others("[app]"), 0U);
}

}  // namespace
}  // namespace lagtrap::analysis::lock_sharers_test
