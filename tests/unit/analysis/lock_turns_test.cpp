#include "analysis/lock_turns.hpp"

#include <gtest/gtest.h>

#include "analysis/block_reason.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::lock_turns_test {
namespace {

const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";

struct Turns {
    test::MadeRecording made;
    const StackId lock = made.stack({"main", libc + "pthread_mutex_lock", "k:futex_wait"});
    const StackId signal = made.stack({"main", libc + "pthread_cond_wait", "k:futex_wait"});
    const StackId monitor =
        made.stack({"main", "ObjectMonitor::enter(JavaThread*)", "k:futex_wait"});

    explicit Turns(std::vector<LockTurn> turns = {}) {
        made.recording.lock_turns = {{}, std::move(turns)};
    }

    // Thread 11 waits from 10 to 100, until 3 wakes it.
    Interval wait(StackId stack) const {
        Interval interval;
        interval.begin_ns = 10;
        interval.end_ns = 100;
        interval.tid = 11;
        interval.waker_tid = 3;
        interval.stack = stack;
        interval.lock = 1;
        interval.state = ThreadState::Blocked;
        interval.wake_cause = WakeCause::Thread;
        interval.woken = true;
        return interval;
    }

    // "BEGIN-END HOLDER", with "+" if it was handed on and "?" if it is only likely.
    std::vector<std::string> pieces(const Interval& interval) const {
        std::vector<std::string> texts;
        for (const Interval& piece : by_holder(made.recording, {interval}))
            texts.push_back(std::to_string(piece.begin_ns) + "-" + std::to_string(piece.end_ns) +
                            " " + std::to_string(piece.waker_tid) + (piece.handed_on ? "+" : "") +
                            (piece.likely ? "?" : ""));
        return texts;
    }
};

using Pieces = std::vector<std::string>;

TEST(LockTurns, ALockIsHeldByWhoeverReleasedItNext) {
    const Turns turns({{10, 9, 8}, {20, 2, 5}, {50, 4, 6}, {100, 7, 11}, {120, 8, 1}});
    EXPECT_EQ(turns.pieces(turns.wait(turns.lock)), (Pieces{"10-20 2+", "20-50 4+", "50-100 7"}));
}

TEST(LockTurns, WithoutALaterReleaseTheWakerHeldItLast) {
    const Turns turns({{11, 2, 5}, {99, 4, 6}});
    EXPECT_EQ(turns.pieces(turns.wait(turns.lock)), (Pieces{"10-11 2+", "11-99 4+", "99-100 3"}));
    Interval likely = turns.wait(turns.lock);
    likely.likely = true;
    EXPECT_EQ(turns.pieces(likely), (Pieces{"10-11 2+", "11-99 4+", "99-100 3?"}));
}

TEST(LockTurns, TheSameHolderHasOnePiece) {
    const Turns turns({{20, 2, 5}, {50, 2, 6}, {60, 3, 7}});
    EXPECT_EQ(turns.pieces(turns.wait(turns.lock)), (Pieces{"10-50 2+", "50-100 3"}));
}

TEST(LockTurns, AWaitWithoutATurnInsideStaysAsItIs) {
    const Turns turns({{10, 2, 5}, {100, 4, 6}});
    EXPECT_EQ(turns.pieces(turns.wait(turns.lock)), (Pieces{"10-100 3"}));
    const Turns inside({{20, 2, 5}});
    Interval other = inside.wait(inside.lock);
    other.wake_cause = WakeCause::Signal;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 3"}));
    other.wake_cause = WakeCause::Killed;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 3"}));
    other = inside.wait(inside.lock);
    other.by_interrupt = true;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 3"}));
    other = inside.wait(inside.lock);
    other.woken = false;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 3"}));
    other = inside.wait(inside.lock);
    other.waker_tid = 0;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 0"}));
    other = inside.wait(inside.lock);
    other.state = ThreadState::Runnable;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 3"}));
    other = inside.wait(inside.lock);
    other.lock = 2;
    EXPECT_EQ(inside.pieces(other), (Pieces{"10-100 3"}));
}

TEST(LockTurns, ASignalIsHeldOnlyByWhoeverReceivedItAndPassedItOn) {
    const Turns turns({{20, 1, 2}, {40, 2, 3}, {60, 5, 6}, {70, 11, 3}});
    EXPECT_EQ(turns.pieces(turns.wait(turns.signal)), (Pieces{"10-20 1+", "20-40 2+", "40-100 3"}));
    const Turns unrelated({{60, 5, 6}});
    EXPECT_EQ(unrelated.pieces(unrelated.wait(unrelated.signal)), (Pieces{"10-100 3"}));
}

TEST(LockTurns, AMonitorOfJavaIsHeldByWhoeverWasWokenInTurn) {
    Turns turns;
    Thread& holder = turns.made.thread(10, 3);
    const auto change = [](std::uint64_t at_ns, ThreadState state, StackId stack,
                           std::uint32_t waker) {
        StateChange made;
        made.at_ns = at_ns;
        made.state = state;
        made.stack = stack;
        made.waker_tid = waker;
        made.woken = waker != 0;
        return made;
    };
    holder.changes = {change(0, ThreadState::Blocked, turns.monitor, 0),
                      change(30, ThreadState::Runnable, 0, 4),
                      change(31, ThreadState::Running, 0, 0)};
    EXPECT_EQ(turns.pieces(turns.wait(turns.monitor)), (Pieces{"10-30 4+", "30-100 3"}));
    // It had waited for something else, or got it before, or from the waiting thread itself.
    turns.made.recording.threads[0].changes[0].stack = turns.lock;
    EXPECT_EQ(turns.pieces(turns.wait(turns.monitor)), (Pieces{"10-100 3"}));
    turns.made.recording.threads[0].changes[0].stack = turns.monitor;
    turns.made.recording.threads[0].changes[1].at_ns = 10;
    EXPECT_EQ(turns.pieces(turns.wait(turns.monitor)), (Pieces{"10-100 3"}));
    turns.made.recording.threads[0].changes[1].at_ns = 30;
    turns.made.recording.threads[0].changes[1].waker_tid = 11;
    EXPECT_EQ(turns.pieces(turns.wait(turns.monitor)), (Pieces{"10-100 3"}));
}

TEST(LockTurns, AreFoundWhereAThreadEndsAWait) {
    test::MadeRecording made;
    const auto waits = [&](std::uint32_t tid, std::uint64_t end_ns, std::uint32_t waker) {
        StateChange blocked, end;
        blocked.state = ThreadState::Blocked;
        blocked.lock = 2;
        end.at_ns = end_ns;
        end.state = ThreadState::Runnable;
        end.woken = true;
        end.waker_tid = waker;
        made.thread(10, tid).changes = {blocked, end};
    };
    waits(11, 50, 1);
    waits(12, 20, 2);
    waits(13, 30, 0);
    waits(14, 30, 4);
    made.recording.threads[3].changes[1].by_interrupt = true;
    waits(15, 30, 5);
    made.recording.threads[4].changes[0].lock = 0;
    made.recording.lock_sightings = {{9, 2, 1}, {5, 2, 1}, {7, 1, 1}};
    find_lock_turns(made.recording);
    ASSERT_EQ(made.recording.lock_turns.size(), 3U);
    EXPECT_TRUE(made.recording.lock_turns[1].empty());
    const std::vector<LockTurn>& turns = made.recording.lock_turns[2];
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_EQ(turns[0].at_ns, 20U);
    EXPECT_EQ(turns[0].from_tid, 2U);
    EXPECT_EQ(turns[0].to_tid, 12U);
    EXPECT_EQ(turns[1].to_tid, 11U);
    const auto& seen = made.recording.lock_sightings;
    EXPECT_EQ(seen[0].at_ns, 7U);
    EXPECT_EQ(seen[1].at_ns, 5U);
    EXPECT_EQ(seen[2].at_ns, 9U);
}

TEST(LockTurns, EachProcessHasOneMemoryMap) {
    test::MadeRecording made;
    const StackId map =
        made.stack({"main", "k:exc_page_fault", "k:down_read", "k:rwsem_down_read_slowpath"});
    const auto blocked = [&](std::uint32_t pid, std::uint32_t tid, StackId stack,
                             std::uint32_t lock) {
        StateChange change;
        change.state = ThreadState::Blocked;
        change.stack = stack;
        change.lock = lock;
        made.thread(pid, tid).changes = {change};
    };
    blocked(10, 11, map, 0);
    blocked(10, 12, map, 0);
    blocked(20, 21, map, 0);
    blocked(20, 22, map, 3);
    blocked(20, 23, made.stack({"main", "k:futex_wait"}), 0);
    made.recording.lock_sightings = {{1, 5, 1}};
    find_lock_turns(made.recording);
    const auto lock = [&](std::size_t thread) {
        return made.recording.threads[thread].changes[0].lock;
    };
    EXPECT_EQ(lock(0), 6U);
    EXPECT_EQ(lock(1), 6U);
    EXPECT_EQ(lock(2), 7U);
    EXPECT_EQ(lock(3), 3U);
    EXPECT_EQ(lock(4), 0U);
}

}  // namespace
}  // namespace lagtrap::analysis::lock_turns_test
