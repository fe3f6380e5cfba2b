#include "analysis/file_waits.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::file_waits_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint32_t own_pid = 10, own_tid = 11;

class FileWaitsOfAThread : public testing::Test {
  protected:
    FileWaitsOfAThread() { made_.thread(own_pid, own_tid, "worker"); }

    // A wait of that length for a file; returns the file, for what else is known of it.
    WaitedFile& wait(WaitFileKind kind, const std::string& path, std::uint64_t length_ms = 10) {
        WaitedFile file;
        file.kind = kind;
        file.path = made_.name(path);
        made_.recording.waited_files.push_back(file);
        Interval wait = plain_wait(length_ms);
        wait.file = static_cast<std::uint32_t>(made_.recording.waited_files.size());
        waits_.push_back(wait);
        return made_.recording.waited_files.back();
    }
    static Interval plain_wait(std::uint64_t length_ms) {
        Interval wait;
        wait.state = ThreadState::Blocked;
        wait.tid = own_tid;
        wait.begin_ns = 100 * ms;
        wait.end_ns = wait.begin_ns + length_ms * ms;
        return wait;
    }
    void process(std::uint32_t pid, const std::string& name) {
        made_.process(pid, 1);
        made_.recording.processes[pid].name = made_.name(name);
    }
    void owner(std::uint64_t socket, std::uint32_t pid, WaitFileKind kind = WaitFileKind::Owner) {
        made_.recording.socket_owners.push_back({socket, 0, pid, kind});
    }
    FileWaits found(WaitKind kind) { return file_waits_of(made_.recording, waits_, kind); }

    test::MadeRecording made_;
    std::vector<Interval> waits_;
};

TEST_F(FileWaitsOfAThread, FilesBelongToWaitsOfTheirKind) {
    using enum WaitFileKind;
    const std::vector<WaitFileKind> all{Unknown,    OfCall,       OfFault,   Lock, Refused, Peer,
                                        Connecting, DatagramPeer, LocalPeer, Pipe, Nothing};
    const std::vector<WaitFileKind> sockets{Peer, Connecting, DatagramPeer, LocalPeer};
    const std::vector<std::pair<std::vector<WaitKind>, std::vector<WaitFileKind>>> table{
        {{WaitKind::Disk, WaitKind::KernelLock, WaitKind::FrozenFiles, WaitKind::Other},
         {OfCall, OfFault}},
        {{WaitKind::FrozenMapping, WaitKind::PageFault}, {OfFault}},
        {{WaitKind::FileLock}, {Lock}},
        {{WaitKind::DatabaseLock, WaitKind::Sleep}, {Refused}},
        {{WaitKind::Events}, {Refused, Peer, Connecting, DatagramPeer, LocalPeer}},
        {{WaitKind::Pipe}, {Pipe}},
        {{WaitKind::Network, WaitKind::LocalSocket}, sockets},
        {{WaitKind::Lock, WaitKind::Signal, WaitKind::Child, WaitKind::Memory, WaitKind::Futex},
         {}}};
    for (const auto& [waits, files] : table)
        for (const WaitKind kind : waits)
            for (const WaitFileKind file : all) {
                waits_.clear();
                wait(file, "/srv/data");
                const bool belongs = std::find(files.begin(), files.end(), file) != files.end();
                const FileWaits seen = found(kind);
                EXPECT_EQ(!seen.path.empty(), belongs)
                    << static_cast<int>(kind) << " " << static_cast<int>(file);
                EXPECT_EQ(seen.asked_ns, 10 * ms);
                if (belongs) {
                    EXPECT_EQ(seen.kind, file);
                }
            }
}

TEST_F(FileWaitsOfAThread, SocketsAndPipesHaveAnOtherEnd) {
    using enum WaitFileKind;
    for (const WaitFileKind kind : {Peer, Connecting, DatagramPeer, LocalPeer}) {
        EXPECT_TRUE(is_socket(kind));
        EXPECT_TRUE(has_other_end(kind));
    }
    EXPECT_FALSE(is_socket(Pipe));
    EXPECT_TRUE(has_other_end(Pipe));
    for (const WaitFileKind kind : {Unknown, OfCall, OfFault, Lock, Refused, SynRepeated,
                                    ConnectRefused, Owner, Listener, FullListener, Nothing}) {
        EXPECT_FALSE(is_socket(kind));
        EXPECT_FALSE(has_other_end(kind));
    }
}

TEST_F(FileWaitsOfAThread, TheFileWithMostOfTheTimeIsNamed) {
    WaitedFile& log = wait(WaitFileKind::OfCall, "/log", 30);
    log.disk = made_.name("vda");
    log.queue_depth = 9;
    for (const std::uint32_t depth : {1U, 4U}) {
        WaitedFile& data = wait(WaitFileKind::OfCall, "/data", 20);
        data.disk = made_.name("vdb");
        data.queue_depth = depth;
    }
    waits_.push_back(plain_wait(5));
    const FileWaits seen = found(WaitKind::Disk);
    EXPECT_EQ(seen.path, "/data");
    EXPECT_EQ(seen.disk, "vdb");
    EXPECT_EQ(seen.time_ns, 40 * ms);
    EXPECT_EQ(seen.asked_ns, 75 * ms);
    EXPECT_EQ(seen.files, 2U);
    EXPECT_EQ(seen.queue_depth, 3U) << "2.5, rounded";
}

TEST_F(FileWaitsOfAThread, TheDiskThatEndedTheWaitsIsKnownWithoutAFile) {
    for (const auto& [disk, length_ms] : {std::pair{"vda", 10}, {"vdb", 30}, {"vda", 15}}) {
        Interval wait = plain_wait(static_cast<std::uint64_t>(length_ms));
        wait.wake_cause = WakeCause::Disk;
        wait.wake_device = made_.name(disk);
        waits_.push_back(wait);
    }
    Interval timer = plain_wait(100);
    timer.wake_cause = WakeCause::Timer;
    timer.wake_device = made_.name("clock");
    waits_.push_back(timer);
    FileWaits seen = found(WaitKind::Disk);
    EXPECT_EQ(seen.disk, "vdb");
    EXPECT_EQ(seen.path, "");
    EXPECT_EQ(seen.files, 0U);
    wait(WaitFileKind::OfCall, "/data", 1);
    EXPECT_EQ(found(WaitKind::Disk).disk, "vdb") << "the file's own is unknown";
    wait(WaitFileKind::OfCall, "/data", 1).disk = made_.name("vdc");
    EXPECT_EQ(found(WaitKind::Disk).disk, "vdc");
}

TEST_F(FileWaitsOfAThread, WaitsBeforeTheRecordingAreNotAskedFor) {
    wait(WaitFileKind::OfCall, "/data", 10);
    Interval before = plain_wait(40);
    before.counted = true;
    waits_.push_back(before);
    EXPECT_EQ(found(WaitKind::Disk).asked_ns, 10 * ms);
}

TEST_F(FileWaitsOfAThread, FilesWithoutAPathAreUnknownUnlessTheirOwnerIsKnown) {
    wait(WaitFileKind::LocalPeer, "").socket = 7;
    EXPECT_EQ(found(WaitKind::LocalSocket).files, 0U);
    process(30, "server");
    owner(7, 30);
    const FileWaits seen = found(WaitKind::LocalSocket);
    EXPECT_EQ(seen.files, 1U);
    EXPECT_EQ(seen.owner_pid, 30U);
    EXPECT_EQ(seen.owner, "server");
}

TEST_F(FileWaitsOfAThread, WhoHadTheLockMostOfTheTimeHoldsIt) {
    process(30, "backup");
    process(40, "cron");
    wait(WaitFileKind::Lock, "/data", 10).holder_pid = 30;
    wait(WaitFileKind::Lock, "/data", 15).holder_pid = 40;
    wait(WaitFileKind::Lock, "/data", 10).holder_pid = 30;
    wait(WaitFileKind::Lock, "/data", 90);
    const FileWaits seen = found(WaitKind::FileLock);
    EXPECT_EQ(seen.holder_pid, 30U);
    EXPECT_EQ(seen.holder, "backup");
    waits_.clear();
    wait(WaitFileKind::Lock, "/data", 90);
    EXPECT_EQ(found(WaitKind::FileLock).holder_pid, 0U);
    EXPECT_EQ(found(WaitKind::FileLock).holder, "");
}

TEST_F(FileWaitsOfAThread, OwnersOfOneNameAreCounted) {
    wait(WaitFileKind::Peer, "10.0.0.1:80").socket = 7;
    for (const std::uint32_t pid : {30U, 31U, 32U}) {
        process(pid, "server");
        owner(7, pid);
    }
    const FileWaits seen = found(WaitKind::Network);
    EXPECT_EQ(seen.owner, "server");
    EXPECT_EQ(seen.owner_pid, 30U);
    EXPECT_EQ(seen.more_owners, 2U);
    EXPECT_FALSE(seen.listener_full);
}

// Two connections to one address, of different processes.
TEST_F(FileWaitsOfAThread, OwnersOfOtherNamesAreNotGuessedAmong) {
    process(30, "server");
    process(40, "helper");
    const auto seen_with = [&](std::uint64_t helper_ms) {
        waits_.clear();
        wait(WaitFileKind::Peer, "10.0.0.1:80", 20).socket = 7;
        wait(WaitFileKind::Peer, "10.0.0.1:80", helper_ms).socket = 8;
        return found(WaitKind::Network);
    };
    owner(7, 30);
    owner(8, 40);
    EXPECT_EQ(seen_with(11).owner_pid, 0U);
    EXPECT_EQ(seen_with(11).owner, "");
    EXPECT_EQ(seen_with(10).owner_pid, 30U);
    EXPECT_EQ(seen_with(10).owner, "server");
}

TEST_F(FileWaitsOfAThread, AFullListenerAndARepeatedSynAreKept) {
    wait(WaitFileKind::Connecting, "10.0.0.1:80").socket = 7;
    process(30, "server");
    owner(7, 30, WaitFileKind::FullListener);
    EXPECT_TRUE(found(WaitKind::Network).listener_full);
    EXPECT_FALSE(found(WaitKind::Network).syn_repeated);
    made_.recording.repeated_syns.push_back({105 * ms, 0, 0, 7});
    EXPECT_TRUE(found(WaitKind::Network).syn_repeated);
    made_.recording.repeated_syns[0].at_ns = 110 * ms;
    EXPECT_FALSE(found(WaitKind::Network).syn_repeated) << "after the wait";
}

TEST_F(FileWaitsOfAThread, NothingIsKnownOfNoWaits) {
    const FileWaits seen = found(WaitKind::Disk);
    EXPECT_EQ(seen.path, "");
    EXPECT_EQ(seen.disk, "");
    EXPECT_EQ(seen.asked_ns, 0U);
}

}  // namespace
}  // namespace lagtrap::analysis::file_waits_test
