#include "analysis/resource_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::resource_words_test {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint32_t own_pid = 10;

FileWaits socket_of(WaitFileKind kind, const std::string& path) {
    FileWaits socket;
    socket.kind = kind;
    socket.path = path;
    socket.files = 1;
    socket.owner = "nginx";
    socket.owner_pid = 100;
    socket.time_ns = 60;
    socket.asked_ns = 100;
    return socket;
}

TEST(ResourceWords, ProcessesHaveANameOrANumber) {
    EXPECT_EQ(process_words("dd", 20), "dd (20)");
    EXPECT_EQ(process_words("", 20), "process 20");
    FileWaits socket = socket_of(WaitFileKind::Peer, "a");
    EXPECT_EQ(owner_words(socket), "nginx (100)");
    socket.more_owners = 1;
    EXPECT_EQ(owner_words(socket), "nginx (100) and 1 other of that name");
    socket.more_owners = 3;
    EXPECT_EQ(owner_words(socket), "nginx (100) and 3 others of that name");
}

TEST(ResourceWords, PeersByTheirKind) {
    const auto words = [](WaitFileKind kind, const std::string& path, bool named) {
        return peer_words(socket_of(kind, path), named, Room::None);
    };
    EXPECT_EQ(words(WaitFileKind::Peer, "10.0.0.1:80", false), "on a connection to 10.0.0.1:80");
    EXPECT_EQ(words(WaitFileKind::Peer, "10.0.0.1:80", true),
              "for an answer from nginx (100) at 10.0.0.1:80");
    EXPECT_EQ(words(WaitFileKind::DatagramPeer, "10.0.0.1:53 (UDP)", false),
              "for an answer from 10.0.0.1:53 (UDP)");
    EXPECT_EQ(words(WaitFileKind::Connecting, "10.0.0.1:80", false), "to connect to 10.0.0.1:80");
    EXPECT_EQ(words(WaitFileKind::Pipe, "", false), "on a pipe");
    EXPECT_EQ(words(WaitFileKind::Pipe, "/run/fifo", true),
              "on the pipe /run/fifo shared with nginx (100)");
    EXPECT_EQ(words(WaitFileKind::LocalPeer, "", true), "on a local socket of nginx (100)");
    EXPECT_EQ(words(WaitFileKind::LocalPeer, "/run/app", false), "on the local socket /run/app");
    FileWaits several = socket_of(WaitFileKind::Peer, "10.0.0.1:80");
    several.files = 2;
    EXPECT_EQ(peer_words(several, false, Room::None), "on a connection to 10.0.0.1:80 and another");
    several.files = 3;
    EXPECT_EQ(peer_words(several, false, Room::None),
              "on a connection to 10.0.0.1:80 and 2 others");
}

TEST(ResourceWords, RoomIsMadeByTheOtherEnd) {
    EXPECT_EQ(words_of_room(Room::Data, BlockReason::Pipe), "to write to a full pipe");
    EXPECT_EQ(words_of_room(Room::Partner, BlockReason::Pipe),
              "for somebody to open the other end of a pipe");
    EXPECT_EQ(words_of_room(Room::Data, BlockReason::LocalSocket),
              "to write to a full local socket");
    EXPECT_EQ(words_of_room(Room::Connection, BlockReason::LocalSocket),
              "to connect to a local socket, whose accept queue was full,");
    EXPECT_EQ(words_of_room(Room::Data, BlockReason::Events), "to write to a full eventfd");
    EXPECT_EQ(words_of_room(Room::Data, BlockReason::MessageQueue),
              "to write to a full message queue");
    EXPECT_EQ(words_of_room(Room::Data, BlockReason::Terminal),
              "to write to a full or paused terminal");
    EXPECT_EQ(words_of_room(Room::Rest, BlockReason::Network),
              "to close a network connection (SO_LINGER), whose other end had not read all that "
              "was sent,");
    EXPECT_EQ(words_of_room(Room::Data, BlockReason::Network),
              "to send to a network connection, whose other end had not read what was sent "
              "before,");
    const std::vector<std::pair<Room, std::string_view>> makers{
        {Room::Data, "read from it"},
        {Room::Rest, "read from it"},
        {Room::Connection, "accepted another connection"},
        {Room::Partner, "opened it"},
        {Room::None, ""}};
    for (const auto& [room, words] : makers) EXPECT_EQ(words_of_room_maker(room), words);
}

TEST(ResourceWords, PeersThatShouldReadAreNamed) {
    const auto words = [](WaitFileKind kind, Room room, bool named = false) {
        return peer_words(socket_of(kind, "10.0.0.1:80"), named, room);
    };
    EXPECT_EQ(words(WaitFileKind::Peer, Room::Data),
              "to send to 10.0.0.1:80, which had not read what was sent before,");
    EXPECT_EQ(words(WaitFileKind::DatagramPeer, Room::Data),
              "for room in a send buffer, to send to 10.0.0.1:80");
    EXPECT_EQ(words(WaitFileKind::Pipe, Room::Data, true),
              "to write to the full pipe 10.0.0.1:80 shared with nginx (100)");
    EXPECT_EQ(words(WaitFileKind::LocalPeer, Room::Connection),
              "to connect to the local socket 10.0.0.1:80, whose accept queue was full,");
}

TEST(ResourceWords, MessageQueuesAndLockedFilesAreNamed) {
    EXPECT_EQ(message_queue_words(Room::Data, "/jobs"), "to write to the full message queue /jobs");
    EXPECT_EQ(message_queue_words(Room::None, "/jobs"), "for a message in the message queue /jobs");
    EXPECT_EQ(message_queue_words(Room::None, ""), "for a message in a message queue");
    EXPECT_EQ(file_lock_words(BlockReason::FileLock, ""), "for a file lock");
    EXPECT_EQ(file_lock_words(BlockReason::FileLock, "/db"), "for a lock on /db");
    EXPECT_EQ(file_lock_words(BlockReason::Lease, ""), "for a lease on a file");
    EXPECT_EQ(file_lock_words(BlockReason::Lease, "/db"), "for a lease on /db");
    FileWaits files;
    files.path = "/db";
    files.files = 1;
    EXPECT_EQ(only_path(files), "/db");
    files.files = 2;
    EXPECT_EQ(only_path(files), "");
}

TEST(ResourceWords, SharersOfALockAreCounted) {
    CauseLink link;
    EXPECT_EQ(sharers_words(link), "");
    link.doings.emplace_back().focus.place.function = "read_table(int)";
    EXPECT_EQ(sharers_words(link), "");
    link.sharers = 1;
    EXPECT_EQ(sharers_words(link),
              "; 1 other thread was in read_table, too, and may have held it, too");
    link.sharers = 3;
    EXPECT_EQ(sharers_words(link),
              "; 3 other threads were in read_table, too, and may have held it, too");
}

TEST(ResourceWords, AListenerWithAFullQueueIsToBlameForMostOfTheTimeOnly) {
    FileWaits socket = socket_of(WaitFileKind::Connecting, "127.0.0.1:80");
    EXPECT_EQ(full_listener_clause(socket), "");
    socket.syn_repeated = true;
    EXPECT_EQ(peer_words(socket, false, Room::None),
              "to connect to 127.0.0.1:80, which did not answer, so the SYN was sent again,");
    EXPECT_EQ(full_listener_clause(socket), "");
    socket.listener_full = true;
    EXPECT_EQ(peer_words(socket, false, Room::None), "to connect to 127.0.0.1:80");
    EXPECT_EQ(full_listener_clause(socket),
              ": the accept queue of nginx (100), which listens there, was full, so the SYN was "
              "sent again");
    socket.time_ns = 50;
    EXPECT_TRUE(is_of_full_listener(socket));
    socket.time_ns = 49;
    EXPECT_FALSE(is_of_full_listener(socket));
    socket.time_ns = 60;
    socket.owner_pid = 0;
    EXPECT_FALSE(is_of_full_listener(socket));
}

TEST(ResourceWords, OnlyConnectionsHaveListeners) {
    FileWaits socket = socket_of(WaitFileKind::Peer, "127.0.0.1:80");
    socket.syn_repeated = socket.listener_full = true;
    EXPECT_FALSE(is_of_full_listener(socket));
}

TEST(ResourceWords, LocksOfInterpretersHaveTheirName) {
    EXPECT_EQ(interpreter_lock_words("/usr/bin/python3.11", ""), "for Python's lock (GIL)");
    EXPECT_EQ(interpreter_lock_words("/usr/lib/libpython3.11.so.1", ""), "for Python's lock (GIL)");
    EXPECT_EQ(interpreter_lock_words("[jit]", "/srv/app.py"), "for Python's lock (GIL)");
    EXPECT_EQ(interpreter_lock_words("/usr/bin/ruby3.1", ""), "for Ruby's lock (GVL)");
    EXPECT_EQ(interpreter_lock_words("/usr/lib/libruby-3.1.so.3.1", ""), "for Ruby's lock (GVL)");
    EXPECT_EQ(interpreter_lock_words("/usr/bin/app", ""),
              words_of_wait(WaitKind::InterpreterLock, ""));
    EXPECT_NE(interpreter_lock_words("/usr/bin/app", ""), "for Ruby's lock (GVL)");
}

TEST(ResourceWords, TheLimitOfADiskHasItsGroup) {
    HeldBack held_back;
    held_back.group = "batch";
    held_back.bytes_per_s = mib;
    EXPECT_EQ(held_back_clause(held_back), "");
    held_back.disk = "vdb";
    EXPECT_EQ(
        held_back_clause(held_back),
        ": its control group batch was at its limit of 1.00 MiB a second for reading from vdb");
    held_back.operations_per_s = 30;
    held_back.writes = true;
    EXPECT_EQ(
        held_back_clause(held_back),
        ": its control group batch was at its limit of 1.00 MiB or 30 operations a second for "
        "writing to vdb");
    held_back.bytes_per_s = 0;
    held_back.group.clear();
    EXPECT_EQ(held_back_clause(held_back),
              ": the root control group was at its limit of 30 operations a second for writing to "
              "vdb");
    held_back.operations_per_s = 0;
    EXPECT_EQ(held_back_clause(held_back),
              ": the root control group was at its limit for writing to vdb");
}

TEST(ResourceWords, TheLargestPartOfAGroupsMemoryIsNamed) {
    MemoryOfGroup group;
    EXPECT_EQ(limit_words(group, own_pid), "");
    group.memory.pid = own_pid;
    group.memory.limit_bytes = 80 * mib;
    group.memory.used_bytes = 80 * mib;
    group.memory.file_bytes = 30 * mib;
    group.memory.anonymous_bytes = 30 * mib;
    EXPECT_EQ(limit_words(group, own_pid), "80.0 MiB");
    EXPECT_EQ(limit_words(group, own_pid + 1), "");
    group.memory.file_bytes = 40 * mib;
    EXPECT_EQ(limit_words(group, own_pid), "80.0 MiB, most of it used by cached files (40.0 MiB)")
        << "half of it is most";
    group.memory.file_bytes = 74 * mib;
    EXPECT_EQ(limit_words(group, own_pid), "80.0 MiB, most of it used by cached files (74.0 MiB)");
    group.memory.filler_pid = 20;
    group.memory.filler_bytes = 70 * mib;
    group.filler = "dd";
    EXPECT_EQ(limit_words(group, own_pid),
              "80.0 MiB, most of it used by cached files (74.0 MiB); dd (20) has read and written "
              "the most (70.0 MiB)");
    group.memory.anonymous_bytes = 75 * mib;
    EXPECT_EQ(limit_words(group, own_pid),
              "80.0 MiB, most of it used by its processes' memory (75.0 MiB); dd (20) has the most "
              "(70.0 MiB)");
    group.memory.shared_bytes = 76 * mib;
    EXPECT_EQ(limit_words(group, own_pid),
              "80.0 MiB, most of it used by shared memory and tmpfs (76.0 MiB)");
}

TEST(ResourceWords, WhatADiskWroteMeanwhile) {
    WrittenData written;
    EXPECT_EQ(written_clause(written, own_pid), "");
    written.bytes = 10 * mib;
    written.path_bytes = 10 * mib;
    written.files = 1;
    EXPECT_EQ(written_clause(written, own_pid), "; meanwhile disks wrote 10.0 MiB");
    written.disk = "vda";
    written.path = "/log";
    EXPECT_EQ(written_clause(written, own_pid), "; meanwhile vda wrote 10.0 MiB of /log");
    written.files = 3;
    written.path_bytes = 5 * mib;
    EXPECT_EQ(written_clause(written, own_pid), "; meanwhile vda wrote 10.0 MiB, mostly of /log");
    written.path_bytes = 5 * mib - 1;
    EXPECT_EQ(written_clause(written, own_pid), "; meanwhile vda wrote 10.0 MiB of 3 files");
    written.files = 1;
    written.writer_pid = own_pid;
    EXPECT_EQ(written_clause(written, own_pid),
              "; meanwhile vda wrote 10.0 MiB of /log, which it has open for writing itself");
    written.writer_pid = 20;
    written.writer = "dd";
    EXPECT_EQ(written_clause(written, own_pid),
              "; meanwhile vda wrote 10.0 MiB of /log, which dd (20) has open for writing");
    written.writers = 2;
    EXPECT_EQ(written_clause(written, own_pid),
              "; meanwhile vda wrote 10.0 MiB of /log, which dd (20) and 2 others of that name "
              "have open for writing");
    written.writer_ended = true;
    written.writer_bytes = 9 * mib;
    EXPECT_EQ(
        written_clause(written, own_pid),
        "; meanwhile vda wrote 10.0 MiB of /log; dd (20), which has ended, had written 9.00 MiB");
}

}  // namespace
}  // namespace lagtrap::analysis::resource_words_test
