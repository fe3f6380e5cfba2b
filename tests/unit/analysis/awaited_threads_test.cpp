// Who should have ended a wait that nobody ended, or that something else ended.
#include "analysis/awaited_threads.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::awaited_threads_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t begin_ns = 1000 * ms, end_ns = 2000 * ms;
constexpr std::uint32_t own_pid = 10, own_tid = 11;
using Frames = std::vector<std::string>;

const Frames in_mutex{"main", "pthread_mutex_lock", "k:futex_wait"};
const Frames in_condition{"main", "pthread_cond_wait", "k:futex_wait"};
const Frames in_wait4{"main", "wait4", "k:do_wait"};
const Frames in_pipe{"main", "read", "k:pipe_read"};

class AwaitedThreads : public testing::Test {
  protected:
    AwaitedThreads() {
        made_.recording.begin_ns = begin_ns;
        made_.recording.end_ns = end_ns;
        made_.recording.has_scheduling = true;
        made_.thread(own_pid, own_pid, "app").changes = {change(ThreadState::Blocked, 0)};
        made_.thread(own_pid, own_tid, "worker").changes = {change(ThreadState::Blocked, 0)};
        made_.process(own_pid, 1);
    }
    static StateChange change(ThreadState state, std::uint64_t after_ms) {
        StateChange made;
        made.state = state;
        made.at_ns = begin_ns + after_ms * ms;
        return made;
    }
    // A thread with a higher number than those before it.
    Thread& thread(std::uint32_t pid, std::uint32_t tid, ThreadState state = ThreadState::Blocked) {
        Thread& made = made_.thread(pid, tid);
        made.changes = {change(state, 0)};
        return made;
    }
    // One that is on a CPU for the first `busy_ms`.
    Thread& busy_thread(std::uint32_t pid, std::uint32_t tid, std::uint64_t busy_ms = 1000) {
        Thread& made = thread(pid, tid, ThreadState::Running);
        made.changes.push_back(change(ThreadState::Blocked, busy_ms));
        return made;
    }
    // A wait of the worker for the whole recording that nobody ends.
    Interval open_wait(const Frames& stack) {
        Interval wait;
        wait.state = ThreadState::Blocked;
        wait.tid = own_tid;
        wait.begin_ns = begin_ns;
        wait.end_ns = end_ns;
        wait.stack = made_.stack(stack);
        return wait;
    }
    Interval timed_out(const Frames& stack, std::uint64_t length_ns = 100 * ms) {
        Interval wait = open_wait(stack);
        wait.end_ns = begin_ns + length_ns;
        wait.woken = true;
        wait.by_interrupt = true;
        wait.wake_cause = WakeCause::Timeout;
        wait.wake_device = 3;
        return wait;
    }
    Interval found(const Interval& wait, bool in_run = true) {
        std::vector<Interval> waits{wait};
        find_awaited(made_.recording, waits, in_run);
        return waits[0];
    }
    std::uint32_t waker(const Interval& wait, bool in_run = true) {
        return found(wait, in_run).waker_tid;
    }
    WaitedFile& file(Interval& wait, WaitFileKind kind) {
        WaitedFile made;
        made.kind = kind;
        made_.recording.waited_files.push_back(made);
        wait.file = static_cast<std::uint32_t>(made_.recording.waited_files.size());
        return made_.recording.waited_files.back();
    }
    void other_end(Interval& wait, WaitFileKind kind, std::uint32_t pid) {
        file(wait, kind).socket = 77;
        made_.recording.socket_owners.push_back({77, 0, pid, WaitFileKind::Owner});
    }

    test::MadeRecording made_;
};

TEST_F(AwaitedThreads, TheOnlyLivingChildIsWaitedFor) {
    thread(20, 20);
    made_.process(20, own_pid);
    const Interval seen = found(open_wait(in_wait4));
    EXPECT_EQ(seen.waker_tid, 20U);
    EXPECT_TRUE(seen.woken && seen.outlasting);
    EXPECT_FALSE(seen.likely || seen.timed_out || seen.killed || seen.by_interrupt);
    EXPECT_EQ(seen.wake_cause, WakeCause::Thread);
    EXPECT_EQ(seen.signaller_tid, 0U);
    EXPECT_EQ(waker(open_wait({"main", "k:sigsuspend"})), 20U) << "for SIGCHLD";
    thread(21, 21).changes.push_back(change(ThreadState::Exited, 5));
    made_.process(21, own_pid);
    thread(22, 22);
    made_.process(22, 20);
    made_.process(23, own_pid);
    EXPECT_EQ(waker(open_wait(in_wait4)), 20U) << "others have ended, or are no children";
    thread(24, 24);
    made_.process(24, own_pid);
    EXPECT_EQ(waker(open_wait(in_wait4)), 0U);
}

TEST_F(AwaitedThreads, TheOnlyChildInVforkIsWaitedFor) {
    const auto child = [&](std::uint32_t pid, const std::string& command_line) {
        thread(pid, pid);
        made_.process(pid, own_pid);
        made_.recording.processes[pid].command_line = command_line;
    };
    made_.recording.processes[own_pid].command_line = "app --all";
    const Interval wait = open_wait({"main", "k:kernel_clone", "k:wait_for_vfork_done"});
    child(20, "true");
    EXPECT_EQ(waker(wait), 0U) << "it runs a program of its own";
    child(21, "app --all");
    EXPECT_EQ(waker(wait), 21U);
    EXPECT_TRUE(found(wait).outlasting);
    EXPECT_EQ(waker(timed_out({"main", "k:wait_for_vfork_done"})), 0U);
    thread(22, 22).changes.push_back(change(ThreadState::Exited, 5));
    made_.process(22, own_pid);
    made_.recording.processes[22].command_line = "app --all";
    EXPECT_EQ(waker(wait), 21U) << "the other has ended";
    child(23, "app --all");
    EXPECT_EQ(waker(wait), 0U) << "either of them";
    made_.recording.processes[23].parent_pid = 20;
    EXPECT_EQ(waker(wait), 21U);
    made_.recording.processes.erase(own_pid);
    EXPECT_EQ(waker(wait), 0U);
}

TEST_F(AwaitedThreads, AWaitThatAnotherEndedIsLeftAlone) {
    thread(20, 20);
    made_.process(20, own_pid);
    Interval wait = open_wait(in_wait4);
    wait.woken = true;
    wait.waker_tid = 99;
    wait.wake_cause = WakeCause::Thread;
    EXPECT_EQ(waker(wait), 99U);
    EXPECT_FALSE(found(wait).outlasting);
    Interval ended = open_wait(in_wait4);
    ended.end_ns -= 1;
    EXPECT_EQ(waker(ended), 0U) << "its end was lost";
    Interval running = open_wait(in_wait4);
    running.state = ThreadState::Runnable;
    EXPECT_EQ(waker(running), 0U);
    Interval somewhere = open_wait(in_wait4);
    somewhere.stack = 0;
    EXPECT_EQ(waker(somewhere), 0U);
}

TEST_F(AwaitedThreads, ATimeoutOfAChildThatEndedLaterNamesNobody) {
    thread(20, 20);
    made_.process(20, own_pid);
    EXPECT_EQ(waker(timed_out(in_wait4)), 0U) << "the thread looked, and went on";
}

TEST_F(AwaitedThreads, AThreadThatIsKilledStillWaitedForItsChild) {
    thread(20, 20);
    made_.process(20, own_pid);
    Interval wait = timed_out(in_wait4);
    wait.by_interrupt = false;
    wait.wake_cause = WakeCause::Killed;
    wait.waker_tid = 99;
    const Interval seen = found(wait);
    EXPECT_EQ(seen.waker_tid, 20U);
    EXPECT_EQ(seen.signaller_tid, 99U);
    EXPECT_TRUE(seen.killed && seen.outlasting);
    EXPECT_FALSE(seen.timed_out);
}

class LockOwners : public AwaitedThreads {
  protected:
    // The worker waits for lock 1, which `owner` had when the wait began.
    Interval wait_for_lock(std::uint32_t owner) {
        made_.recording.lock_turns.resize(2);
        made_.recording.lock_sightings = {{begin_ns, 1, owner}};
        Interval wait = open_wait(in_mutex);
        wait.lock = 1;
        return wait;
    }
};

TEST_F(LockOwners, TheMemoryOfTheProgramNamesTheOwner) {
    thread(own_pid, 12);
    const Interval seen = found(wait_for_lock(12));
    EXPECT_EQ(seen.waker_tid, 12U);
    EXPECT_FALSE(seen.likely);
    EXPECT_EQ(waker(wait_for_lock(12), false), 12U) << "certain outside of runs too";
    Interval joining = wait_for_lock(12);
    joining.stack = made_.stack({"main", "pthread_join", "k:futex_wait"});
    EXPECT_EQ(waker(joining), 12U);
    Interval writer = wait_for_lock(12);
    writer.stack = made_.stack({"main", "pthread_rwlock_wrlock", "k:futex_wait"});
    EXPECT_EQ(waker(writer), 12U);
    Interval signal = wait_for_lock(12);
    signal.stack = made_.stack(in_condition);
    EXPECT_EQ(waker(signal), 0U);
}

TEST_F(LockOwners, WhoeverKnowsTheOwnerAtTheEndIsBelieved) {
    thread(own_pid, 12);
    thread(own_pid, 13);
    made_.recording.lock_owners = {{own_tid, 13}};
    EXPECT_EQ(waker(wait_for_lock(12)), 13U);
    Interval timeout = timed_out(in_mutex);
    timeout.lock = 1;
    EXPECT_EQ(waker(timeout), 12U) << "that wait is over";
}

TEST_F(LockOwners, OnlyThreadsThatCanHaveTheLockOwnIt) {
    made_.process(20, 1);
    thread(20, 20);
    EXPECT_EQ(waker(wait_for_lock(20)), 0U) << "another program";
    EXPECT_EQ(waker(wait_for_lock(99)), 0U) << "no thread";
    made_.process(20, own_pid);
    EXPECT_EQ(waker(wait_for_lock(20)), 20U) << "a child";
    made_.process(20, 5);
    made_.process(own_pid, 20);
    EXPECT_EQ(waker(wait_for_lock(20)), 20U) << "the parent";
    made_.process(own_pid, 5);
    EXPECT_EQ(waker(wait_for_lock(20)), 20U) << "a child of the same parent";
    made_.process(own_pid, 1);
    made_.process(20, 1);
    EXPECT_EQ(waker(wait_for_lock(20)), 0U) << "init's children share nothing";
    made_.process(20, own_pid);
    made_.recording.threads.back().changes.push_back(change(ThreadState::Exited, 5));
    EXPECT_EQ(waker(wait_for_lock(20)), 0U) << "it has ended";
}

TEST_F(LockOwners, TheLastSightingBeforeTheEndOfTheWaitCounts) {
    for (const std::uint32_t tid : {12U, 13U, 14U}) thread(own_pid, tid);
    Interval wait = wait_for_lock(12);
    auto& seen = made_.recording.lock_sightings;
    seen.push_back({end_ns - 1, 1, 13});
    seen.push_back({end_ns, 1, 14});
    seen.push_back({begin_ns, 2, 14});
    EXPECT_EQ(waker(wait), 13U);
    wait.lock = 3;
    EXPECT_EQ(waker(wait), 0U);
    wait.lock = 0;
    EXPECT_EQ(waker(wait), 0U);
}

TEST_F(LockOwners, ShortTimeoutsForDifferentLocksNameNoOwner) {
    thread(own_pid, 12);
    const auto owner_of_two = [&](std::uint32_t second_lock) {
        Interval wait = wait_for_lock(12);
        wait.woken = true;
        wait.wake_cause = WakeCause::Timeout;
        wait.end_ns = begin_ns + 9 * ms;
        Interval next = wait;
        next.lock = second_lock;
        next.begin_ns = wait.end_ns;
        next.end_ns = next.begin_ns + 9 * ms;
        std::vector<Interval> waits{wait, next};
        find_awaited(made_.recording, waits, true);
        EXPECT_EQ(waits[1].waker_tid, waits[0].waker_tid);
        return waits[0].waker_tid;
    };
    EXPECT_EQ(owner_of_two(1), 12U);
    EXPECT_EQ(owner_of_two(2), 0U);
}

TEST_F(LockOwners, WhoPassedTheLockOnHasItNoMore) {
    for (const std::uint32_t tid : {12U, 13U, 14U}) thread(own_pid, tid);
    Interval wait = wait_for_lock(12);
    auto& turns = made_.recording.lock_turns[1];
    turns = {{begin_ns - 1, 12, 14}};
    EXPECT_EQ(waker(wait), 12U) << "before it was seen";
    turns = {{begin_ns, 12, 13}, {end_ns, 13, 14}};
    EXPECT_EQ(waker(wait), 13U);
}

TEST_F(AwaitedThreads, WhoHasAFileLockIsWaitedForIfItHasOneThread) {
    Interval wait = open_wait({"main", "flock", "k:locks_lock_inode_wait"});
    file(wait, WaitFileKind::Lock).holder_pid = 30;
    thread(30, 30);
    thread(30, 31).changes.push_back(change(ThreadState::Exited, 5));
    EXPECT_EQ(waker(wait), 30U);
    thread(30, 32);
    EXPECT_EQ(waker(wait), 0U);
    made_.recording.waited_files.back().holder_pid = own_pid;
    EXPECT_EQ(waker(wait), 0U) << "its own process";
    wait.file = 0;
    EXPECT_EQ(waker(wait), 0U);
}

TEST_F(AwaitedThreads, TheOnlyThreadAtTheOtherEndIsWaitedFor) {
    for (const auto& [stack, kind] :
         {std::pair{in_pipe, WaitFileKind::Pipe},
          {Frames{"main", "k:unix_stream_read_generic"}, WaitFileKind::LocalPeer},
          {Frames{"main", "k:tcp_recvmsg"}, WaitFileKind::Peer}}) {
        made_.recording.socket_owners.clear();
        if (made_.recording.find_thread(30) == nullptr) thread(30, 30);
        Interval wait = open_wait(stack);
        other_end(wait, kind, 30);
        const Interval seen = found(wait);
        EXPECT_EQ(seen.waker_tid, 30U) << stack.back();
        EXPECT_FALSE(seen.likely);
    }
}

TEST_F(AwaitedThreads, OfTwoProcessesAtTheOtherEndNoneIsWaitedFor) {
    Interval wait = open_wait(in_pipe);
    other_end(wait, WaitFileKind::Pipe, 30);
    made_.recording.socket_owners.push_back({77, 0, 40, WaitFileKind::Owner});
    thread(30, 30);
    thread(40, 40);
    EXPECT_EQ(waker(wait), 0U);
}

TEST_F(AwaitedThreads, AtItsOwnOtherEndOnlyABusyThreadIsLikely) {
    Interval wait = open_wait(in_pipe);
    other_end(wait, WaitFileKind::Pipe, own_pid);
    EXPECT_EQ(waker(wait), 0U);
    busy_thread(own_pid, 12);
    EXPECT_EQ(waker(wait), 12U);
    EXPECT_TRUE(found(wait).likely);
}

TEST_F(AwaitedThreads, OfSeveralThreadsAtTheOtherEndTheBusyOneIsLikely) {
    thread(30, 30);
    busy_thread(30, 31);
    for (const auto& [stack, kind] :
         {std::pair{in_pipe, WaitFileKind::Pipe},
          {Frames{"main", "k:unix_stream_read_generic"}, WaitFileKind::LocalPeer},
          {Frames{"main", "k:tcp_recvmsg"}, WaitFileKind::Peer}}) {
        made_.recording.socket_owners.clear();
        Interval wait = open_wait(stack);
        other_end(wait, kind, 30);
        const Interval seen = found(wait);
        EXPECT_EQ(seen.waker_tid, 31U) << stack.back();
        EXPECT_TRUE(seen.likely);
        EXPECT_EQ(waker(wait, false), 0U) << "not outside of a run";
        made_.recording.socket_owners.clear();
        EXPECT_EQ(waker(wait), 0U) << "nobody is known to have the other end";
    }
}

TEST_F(AwaitedThreads, OfMoreThanAThousandThreadsNoneIsLikely) {
    busy_thread(own_pid, 12);
    for (std::uint32_t tid = 13; tid <= 1010; ++tid) thread(own_pid, tid);
    EXPECT_EQ(waker(open_wait(in_mutex)), 12U);
    thread(own_pid, 1011);
    EXPECT_EQ(waker(open_wait(in_mutex)), 0U);
}

TEST_F(AwaitedThreads, TheOnlyBusyThreadIsLikely) {
    busy_thread(own_pid, 12);
    busy_thread(20, 20);
    for (const Frames& stack :
         {in_mutex, in_condition, Frames{"main", "pthread_rwlock_wrlock", "k:futex_wait"},
          Frames{"main", "sem_wait", "k:futex_wait"}, Frames{"main", "k:futex_wait"},
          Frames{"main", "pthread_once", "k:futex_wait"},
          Frames{"main", "PyThread_acquire_lock_timed", "k:futex_wait"},
          Frames{"main", "k:eventfd_read"}, Frames{"main", "k:eventfd_write"}}) {
        const Interval seen = found(open_wait(stack));
        EXPECT_EQ(seen.waker_tid, 12U) << stack[1];
        EXPECT_TRUE(seen.likely);
        EXPECT_EQ(waker(open_wait(stack), false), 0U) << "not outside of a run";
    }
    for (const Frames& stack : {Frames{"main", "k:ep_poll"}, Frames{"main", "k:do_nanosleep"},
                                Frames{"main", "k:io_schedule"}})
        EXPECT_EQ(waker(open_wait(stack)), 0U) << stack[1];
}

TEST_F(AwaitedThreads, WhoWasBusyHalfOfTheTimeAloneIsTheOnlyOne) {
    Thread& first = busy_thread(own_pid, 12, 500);
    EXPECT_EQ(waker(open_wait(in_mutex)), 12U);
    first.changes.back().at_ns -= 1;
    EXPECT_EQ(waker(open_wait(in_mutex)), 0U);
    made_.recording.threads.back().changes.back() = change(ThreadState::Blocked, 600);
    busy_thread(own_pid, 13, 99);
    EXPECT_EQ(waker(open_wait(in_mutex)), 12U);
    made_.recording.threads.back().changes.back() = change(ThreadState::Blocked, 100);
    EXPECT_EQ(waker(open_wait(in_mutex)), 0U) << "another one was busy too";
}

TEST_F(AwaitedThreads, WaitingForACpuIsBusyToo) {
    busy_thread(own_pid, 12, 300);
    auto& changes = made_.recording.threads.back().changes;
    changes[1].state = ThreadState::Runnable;
    changes.push_back(change(ThreadState::Blocked, 600));
    EXPECT_EQ(waker(open_wait(in_mutex)), 12U);
}

TEST_F(AwaitedThreads, OnlyLongTimeoutsAreSearched) {
    busy_thread(own_pid, 12);
    const Interval seen = found(timed_out(in_condition, 10 * ms));
    EXPECT_EQ(seen.waker_tid, 12U);
    EXPECT_TRUE(seen.timed_out && seen.likely && seen.outlasting && seen.woken);
    EXPECT_FALSE(seen.by_interrupt);
    EXPECT_EQ(seen.wake_device, 0U);
    EXPECT_EQ(seen.wake_cause, WakeCause::Thread);
    EXPECT_EQ(waker(timed_out(in_condition, 10 * ms - 1)), 0U);
    std::vector<Interval> waits(70, timed_out(in_condition));
    find_awaited(made_.recording, waits, true);
    EXPECT_EQ(waits[63].waker_tid, 12U);
    EXPECT_EQ(waits[64].waker_tid, 0U);
}

TEST_F(AwaitedThreads, ShortTimeoutsAtOnePlaceAreSearchedAsOne) {
    busy_thread(own_pid, 20);
    const auto short_waits = [&](std::size_t count, std::uint64_t pause_ms) {
        const StackId stack = made_.stack(in_condition);
        std::vector<Interval> waits;
        for (std::size_t i = 0; i < count; ++i) {
            waits.push_back(timed_out(in_condition, 5 * ms));
            waits.back().stack = stack;
            waits.back().begin_ns += i * (5 + pause_ms) * ms;
            waits.back().end_ns += i * (5 + pause_ms) * ms;
        }
        find_awaited(made_.recording, waits, true);
        for (const Interval& wait : waits) {
            EXPECT_EQ(wait.waker_tid, waits.front().waker_tid);
            EXPECT_EQ(wait.likely && wait.timed_out, wait.waker_tid != 0);
        }
        return waits.front().waker_tid;
    };
    EXPECT_EQ(short_waits(2, 0), 20U);
    EXPECT_EQ(short_waits(1, 0), 0U) << "too short altogether";
    EXPECT_EQ(short_waits(100, 4), 20U);
    EXPECT_EQ(short_waits(100, 6), 0U) << "it hardly waited";
    // More than single waits that are searched.
    EXPECT_EQ(short_waits(190, 0), 20U);
}

TEST_F(AwaitedThreads, WhoHoldsAnInterpreterRunsMeanwhile) {
    busy_thread(own_pid, 12);
    const std::string python = "!/usr/bin/python3.11!";
    const Frames in_interpreter{python + "PyEval_RestoreThread", "?:/usr/bin/python3.11",
                                "!/usr/lib/libc.so.6!pthread_cond_timedwait", "k:futex_wait"};
    const Interval seen = found(timed_out(in_interpreter, 5 * ms), false);
    EXPECT_EQ(seen.waker_tid, 12U);
    EXPECT_EQ(seen.wake_cause, WakeCause::Thread);
    EXPECT_FALSE(seen.by_interrupt || seen.outlasting || seen.likely);
    Interval given = timed_out(in_interpreter, 5 * ms);
    given.wake_cause = WakeCause::Timer;
    EXPECT_EQ(waker(given, false), 0U);
    EXPECT_EQ(waker(timed_out(in_condition, 5 * ms), false), 0U);
    std::vector<Interval> waits(70, timed_out(in_interpreter, 5 * ms));
    find_awaited(made_.recording, waits, false);
    EXPECT_EQ(waits[63].waker_tid, 12U);
    EXPECT_EQ(waits[64].waker_tid, 0U) << "searched too often";
}

// A packet or a timer of the other side tells the writer that there is room again.
TEST_F(AwaitedThreads, WhoDidNotReadHeldUpTheWriter) {
    thread(30, 30);
    Interval wait = timed_out({"main", "send", "k:sk_stream_wait_memory"});
    wait.wake_cause = WakeCause::Packet;
    other_end(wait, WaitFileKind::Peer, 30);
    const Interval seen = found(wait);
    EXPECT_EQ(seen.waker_tid, 30U);
    EXPECT_EQ(seen.wake_cause, WakeCause::Thread);
    EXPECT_FALSE(seen.by_interrupt || seen.outlasting);
    EXPECT_EQ(seen.wake_device, 0U);
    Interval by_thread = wait;
    by_thread.by_interrupt = false;
    EXPECT_EQ(waker(by_thread), 0U);
    Interval reading = wait;
    reading.stack = made_.stack({"main", "recv", "k:tcp_recvmsg"});
    EXPECT_EQ(waker(reading), 0U);
    Interval timeout = wait;
    timeout.wake_cause = WakeCause::Timeout;
    EXPECT_TRUE(found(timeout).outlasting) << "it should have read, and did not";
    std::vector<Interval> waits(70, wait);
    find_awaited(made_.recording, waits, true);
    EXPECT_EQ(waits[63].waker_tid, 30U);
    EXPECT_EQ(waits[64].waker_tid, 0U) << "searched too often";
}

class Guesses : public testing::Test {
  protected:
    static Interval guess() {
        Interval wait;
        wait.state = ThreadState::Blocked;
        wait.waker_tid = 12;
        wait.woken = wait.outlasting = wait.likely = true;
        wait.wake_cause = WakeCause::Thread;
        return wait;
    }
    static Interval certain() {
        Interval wait = guess();
        wait.likely = wait.outlasting = false;
        return wait;
    }
    static Interval after(Interval wait, const Interval& other = certain()) {
        std::vector<Interval> waits{wait, other};
        forget_needless_guesses(waits);
        return waits[0];
    }
};

TEST_F(Guesses, AreForgottenIfSomebodyEndedAWait) {
    const Interval seen = after(guess());
    EXPECT_EQ(seen.waker_tid, 0U);
    EXPECT_FALSE(seen.woken || seen.outlasting || seen.likely || seen.timed_out || seen.killed);
    EXPECT_EQ(seen.wake_cause, WakeCause::Unknown);
}

TEST_F(Guesses, GiveWayToWhatEndedTheWait) {
    Interval timeout = guess();
    timeout.timed_out = true;
    EXPECT_TRUE(after(timeout).woken);
    EXPECT_FALSE(after(timeout).timed_out);
    EXPECT_EQ(after(timeout).wake_cause, WakeCause::Timeout);
    Interval signal = guess();
    signal.signaller_tid = 99;
    EXPECT_TRUE(after(signal).woken);
    EXPECT_EQ(after(signal).waker_tid, 99U);
    EXPECT_EQ(after(signal).signaller_tid, 0U);
    EXPECT_EQ(after(signal).wake_cause, WakeCause::Signal);
    signal.killed = true;
    EXPECT_EQ(after(signal).wake_cause, WakeCause::Killed);
    EXPECT_FALSE(after(signal).killed);
}

TEST_F(Guesses, AreKeptIfNothingElseIsKnown) {
    Interval interrupt = certain();
    interrupt.by_interrupt = true;
    Interval running = certain();
    running.state = ThreadState::Runnable;
    Interval unknown = certain();
    unknown.waker_tid = 0;
    for (const Interval& other : {guess(), interrupt, running, unknown}) {
        EXPECT_EQ(after(guess(), other).waker_tid, 12U);
        EXPECT_TRUE(after(guess(), other).likely);
    }
    EXPECT_EQ(after(certain()).waker_tid, 12U);
}

}  // namespace
}  // namespace lagtrap::analysis::awaited_threads_test
