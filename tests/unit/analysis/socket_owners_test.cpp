#include "analysis/socket_owners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lagtrap::analysis::socket_owners_test
