#include "analysis/socket_owners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::socket_owners_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t client_pid = 10, server_pid = 20, other_pid = 30;
constexpr std::uint64_t connection = 7;

// The client waits for its peer.
class SocketEnds : public testing::Test {
  protected:
    SocketEnds() {
        Thread client;
        client.pid = client_pid;
        client.tid = client_pid + 1;
        recording_.threads.push_back(client);
        recording_.waited_files.push_back({.socket = connection, .kind = WaitFileKind::Peer});
        wait_.tid = client.tid;
        wait_.file = 1;
        wait_.state = ThreadState::Blocked;
    }
    void add(std::uint32_t pid, WaitFileKind kind = WaitFileKind::Owner,
             std::uint64_t socket = connection) {
        recording_.socket_owners.push_back({socket, 0, pid, kind});
    }
    [[nodiscard]] std::vector<std::uint32_t> other_end() const {
        return other_end_of(recording_, wait_).pids;
    }

    Recording recording_;
    Interval wait_;
};

TEST_F(SocketEnds, TheOtherProcessOwnsTheOtherEnd) {
    add(server_pid);
    EXPECT_THAT(other_end(), ElementsAre(server_pid));
}

TEST_F(SocketEnds, TheWaitingProcessIsNotTheOtherOneIfItHasACopyOfThatEnd) {
    add(client_pid);
    add(server_pid);
    EXPECT_THAT(other_end(), ElementsAre(server_pid));
}

TEST_F(SocketEnds, AProcessAloneAtBothEndsOwnsTheOtherEnd) {
    add(client_pid);
    EXPECT_THAT(other_end(), ElementsAre(client_pid));
}

TEST_F(SocketEnds, OwnersAreListedOnceInOrder) {
    add(other_pid);
    add(server_pid);
    add(other_pid);
    EXPECT_THAT(other_end(), ElementsAre(server_pid, other_pid));
}

TEST_F(SocketEnds, OwnersOfOtherSocketsAndListenersDoNotCount) {
    add(other_pid, WaitFileKind::Owner, connection + 1);
    add(server_pid, WaitFileKind::Listener);
    EXPECT_THAT(other_end(), IsEmpty());
}

TEST_F(SocketEnds, AConnectionThatIsNotAcceptedYetBelongsToItsListener) {
    recording_.waited_files[0].kind = WaitFileKind::Connecting;
    add(other_pid, WaitFileKind::Owner);
    add(server_pid, WaitFileKind::Listener);
    EXPECT_THAT(other_end(), ElementsAre(server_pid));
    EXPECT_FALSE(other_end_of(recording_, wait_).full);
    add(server_pid, WaitFileKind::FullListener);
    EXPECT_TRUE(other_end_of(recording_, wait_).full);
}

TEST_F(SocketEnds, AWaitForNothingHasNoOtherEnd) {
    add(server_pid);
    wait_.file = 0;
    EXPECT_THAT(other_end(), IsEmpty());
}

// The client waits from 100 to 200 ms for a listener whose accept queue is full. A timer ends it.
class FullListeners : public testing::Test {
  protected:
    FullListeners() {
        made_.name("");
        made_.stack({});
        made_.recording.begin_ns = 0;
        made_.recording.end_ns = 300 * ms;
        made_.thread(client_pid, client_tid, "client");
        work_until(made_.thread(server_pid, lazy_tid, "lazy"), 110 * ms, 0);
        work_until(made_.thread(server_pid, busy_tid, "busy"), 190 * ms, 0);
        work_until(made_.thread(other_pid, other_pid + 1, "other"), 250 * ms, 0);
        made_.recording.waited_files.push_back(
            {.socket = connection, .kind = WaitFileKind::Connecting});
        made_.recording.socket_owners.push_back(
            {connection, 0, server_pid, WaitFileKind::FullListener});
        made_.recording.repeated_syns.push_back({150 * ms, 0, 0, connection});
        wait_.tid = client_tid;
        wait_.file = 1;
        wait_.state = ThreadState::Blocked;
        wait_.begin_ns = 100 * ms;
        wait_.end_ns = 200 * ms;
        wait_.waker_tid = other_pid + 1;
        wait_.by_interrupt = true;
        wait_.wake_cause = WakeCause::Timer;
        wait_.wake_device = made_.name("eth0");
    }
    static void work_until(Thread& thread, std::uint64_t at_ns, StackId then) {
        thread.changes.clear();
        thread.changes.push_back({.at_ns = 0, .state = ThreadState::Running});
        thread.changes.push_back({.at_ns = at_ns, .stack = then, .state = ThreadState::Blocked});
    }
    [[nodiscard]] Interval blamed() const {
        std::vector<Interval> intervals{wait_};
        blame_full_listeners(made_.recording, intervals);
        return intervals.front();
    }
    void expect_nobody_blamed() const {
        const Interval left = blamed();
        EXPECT_EQ(left.waker_tid, wait_.waker_tid);
        EXPECT_FALSE(left.woken);
        EXPECT_TRUE(left.by_interrupt);
        EXPECT_EQ(left.wake_cause, WakeCause::Timer);
        EXPECT_EQ(left.wake_device, wait_.wake_device);
    }

    static constexpr std::uint64_t ms = 1'000'000;
    static constexpr std::uint32_t client_tid = 11, lazy_tid = 21, busy_tid = 22;
    test::MadeRecording made_;
    Interval wait_;
};

TEST_F(FullListeners, TheThreadThatWasBusiestIsBlamedForTheWait) {
    const Interval wait = blamed();
    EXPECT_EQ(wait.waker_tid, busy_tid);
    EXPECT_TRUE(wait.woken);
    EXPECT_FALSE(wait.by_interrupt) << "the thread, no timer, ended it";
    EXPECT_EQ(wait.wake_cause, WakeCause::Thread);
    EXPECT_EQ(wait.wake_device, 0U);
    EXPECT_EQ(wait.begin_ns, wait_.begin_ns);
    EXPECT_EQ(wait.end_ns, wait_.end_ns);
}

TEST_F(FullListeners, OnlyTimeDuringTheWaitMakesAThreadBusy) {
    work_until(made_.recording.threads[2], 95 * ms, 0);
    EXPECT_EQ(blamed().waker_tid, lazy_tid);
}

TEST_F(FullListeners, TheThreadThatAcceptsConnectionsIsBlamedHoweverIdle) {
    const StackId accepting = made_.stack({"main", "k:inet_csk_accept"});
    work_until(made_.recording.threads[1], 110 * ms, accepting);
    EXPECT_EQ(blamed().waker_tid, lazy_tid);
    const StackId own = made_.stack({"main", "inet_csk_accept"});
    work_until(made_.recording.threads[1], 110 * ms, own);
    EXPECT_EQ(blamed().waker_tid, busy_tid) << "the kernel's function of that name counts";
}

TEST_F(FullListeners, NobodyIsBlamedIfTheQueueWasNotFull) {
    made_.recording.socket_owners[0].kind = WaitFileKind::Listener;
    expect_nobody_blamed();
}

TEST_F(FullListeners, NobodyIsBlamedIfTheFirstPacketWasNotRepeatedDuringTheWait) {
    for (const std::uint64_t at_ns : {99 * ms, 200 * ms}) {
        made_.recording.repeated_syns[0].at_ns = at_ns;
        expect_nobody_blamed();
    }
    made_.recording.repeated_syns[0].at_ns = 100 * ms;
    EXPECT_EQ(blamed().waker_tid, busy_tid);
    made_.recording.repeated_syns[0].socket = connection + 1;
    expect_nobody_blamed();
}

TEST_F(FullListeners, NobodyIsBlamedForOtherWaits) {
    made_.recording.waited_files[0].kind = WaitFileKind::Peer;
    expect_nobody_blamed();
    made_.recording.waited_files[0].kind = WaitFileKind::Connecting;
    wait_.state = ThreadState::Runnable;
    expect_nobody_blamed();
    wait_.state = ThreadState::Blocked;
    wait_.file = 0;
    expect_nobody_blamed();
}

TEST_F(FullListeners, AThreadIsNotBlamedForItsOwnWait) {
    wait_.tid = busy_tid;
    expect_nobody_blamed();
}

}  // namespace
}  // namespace lagtrap::analysis::socket_owners_test
