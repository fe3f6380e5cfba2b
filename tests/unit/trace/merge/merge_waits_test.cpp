#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "tests/unit/trace/merge_fixture.hpp"

namespace lagtrap::trace::merge_waits_test {
namespace {

TEST_F(Merge, KeepsWhatEndedWaits) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    for (const std::uint32_t tid : {100U, 200U, 300U}) capture.thread(tid, tid, "thread");
    lagtrap_waking record{};
    record.waker_pid = record.waker_tid = 100;
    record.wakee_pid = record.wakee_tid = 200;
    capture.waking(10, 0, record);  // as recorders wrote it before causes existed
    record.cause = LAGTRAP_WAKE_THREAD;
    capture.waking(11, 0, record);
    record.cause = LAGTRAP_WAKE_TIMEOUT;
    record.in_interrupt = LAGTRAP_INTERRUPT_HARD;
    capture.waking(12, 0, record);
    record.cause = LAGTRAP_WAKE_PACKET;
    record.in_interrupt = LAGTRAP_INTERRUPT_SOFT;
    std::strcpy(record.device, "eth0");
    capture.waking(13, 0, record);
    record.sender_pid = record.sender_tid = 300;
    std::strcpy(record.device, "lo");
    capture.waking(14, 0, record);
    record = lagtrap_waking{};
    record.wakee_pid = record.wakee_tid = 200;
    record.in_interrupt = LAGTRAP_INTERRUPT_HARD;
    record.cause = LAGTRAP_WAKE_DEVICE;
    record.number = 36;
    std::memcpy(record.device, "sixteen\x1b letters", sizeof(record.device));
    capture.waking(15, 0, record);
    capture.flush();
    ASSERT_TRUE(merge());
    json::array wanted;
    const auto add = [&](double ms, int waker, int flags, int cause, int number,
                         const char* device) {
        wanted.push_back(
            json::array{at_ms(ms) + slept_ns, waker, 200, flags, cause, number, device});
    };
    add(10, 100, 0, 0, 0, "");
    add(11, 100, 0, 1, 0, "");
    add(12, 100, 8, 2, 0, "");
    add(13, 100, 16, 4, 0, "eth0");
    add(14, 300, 0, 4, 0, "lo");
    add(15, 0, 8, 6, 36, "sixteen\\x1b letters");
    EXPECT_EQ(json::serialize(decoded(trace()).at("wakings")), json::serialize(wanted));
}

TEST_F(Merge, KeepsTheFilesOfWaits) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    capture.thread(200, 200, "thread");
    lagtrap_wait_file record{};
    record.file = 7;
    record.pid = record.tid = 200;
    record.kind = LAGTRAP_FILE_OF_CALL;
    record.queue_depth = 3;
    std::strcpy(record.disk, "vda");
    capture.wait_file(10, 0, record, std::string_view("a\x1b log\0app\0var\0", 14));
    capture.wait_file(11, 0, record, "");
    record.file = 8;
    record.kind = LAGTRAP_FILE_LOCK;
    record.holder_pid = 300;
    record.queue_depth = 0;
    record.disk[0] = 0;
    capture.wait_file(12, 0, record, "");  // its path was lost
    capture.flush();
    ASSERT_TRUE(merge());
    json::array wanted;
    const auto add = [&](double ms, int kind, const char* path, const char* disk, int depth,
                         int holder) {
        wanted.push_back(json::array{at_ms(ms) + slept_ns, 200, kind, path, disk, depth, holder});
    };
    add(10, 1, "/var/app/a\\x1b log", "vda", 3, 0);
    add(11, 1, "/var/app/a\\x1b log", "vda", 3, 0);
    add(12, 3, "", "", 0, 300);
    EXPECT_EQ(json::serialize(decoded(trace()).at("wait_files")), json::serialize(wanted));
}

// For a thread that stops, and for one that was sleeping when the recording began.
TEST_F(Merge, KeepsTheOtherEndsOfSockets) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    capture.thread(200, 200, "thread");
    lagtrap_wait_file record{};
    record.pid = record.tid = 200;
    const auto add = [&](double ms, lagtrap_wait_file_kind kind, const lagtrap_peer& peer,
                         std::size_t bytes = sizeof(lagtrap_peer)) {
        record.file += 1;
        record.kind = kind;
        capture.wait_file(ms, 0, record, {reinterpret_cast<const char*>(&peer), bytes});
    };
    add(10, LAGTRAP_FILE_PEER, {{10, 0, 0, 7}, 5432, AF_INET, IPPROTO_TCP, 0});
    add(11, LAGTRAP_FILE_DATAGRAM_PEER, {{127, 0, 0, 1}, 53, AF_INET, IPPROTO_UDP, 0});
    add(12, LAGTRAP_FILE_CONNECTING,
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 80, AF_INET6, IPPROTO_TCP, 0});
    add(13, LAGTRAP_FILE_PEER,
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 8}, 81, AF_INET6, IPPROTO_TCP, 0});
    add(14, LAGTRAP_FILE_PEER, {{10, 0, 0, 7}, 5432, AF_INET, IPPROTO_TCP, 0}, 23);  // truncated
    record.kind = LAGTRAP_FILE_LOCAL_PEER;
    record.file += 1;
    capture.wait_file(15, 0, record, std::string_view("/run/app\x1b\0", 10));
    capture.flush();
    ASSERT_TRUE(merge());
    const json::value seen = decoded(trace());
    json::array found;
    for (const json::value& wait : seen.at("wait_files").as_array())
        found.push_back(json::array{wait.at(2), wait.at(3)});
    const json::array wanted{json::array{5, "10.0.0.7:5432"},
                             json::array{7, "127.0.0.1:53 (UDP)"},
                             json::array{6, "[::1]:80"},
                             json::array{5, "10.0.0.8:81"},
                             json::array{5, ""},
                             json::array{8, "/run/app\\x1b"}};
    EXPECT_EQ(json::serialize(found), json::serialize(wanted));
}

// The owner refers to the socket by its number, and gets the address recorded with that number.
TEST_F(Merge, KeepsTheOwnersOfSockets) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    capture.thread(200, 200, "thread");
    lagtrap_wait_file record{};
    record.file = 77;
    record.pid = record.tid = 200;
    record.kind = LAGTRAP_FILE_PEER;
    const lagtrap_peer peer{{10, 0, 0, 7}, 5432, AF_INET, IPPROTO_TCP, 0};
    capture.wait_file(10, 0, record, {reinterpret_cast<const char*>(&peer), sizeof(peer)});
    lagtrap_wait_file owner{};
    owner.file = 77;
    owner.pid = owner.holder_pid = 300;
    owner.kind = LAGTRAP_FILE_OWNER;
    capture.wait_file(11, 0, owner, "");
    capture.flush();
    ASSERT_TRUE(merge());
    const json::value seen = decoded(trace());
    const json::array wanted{json::array{at_ms(10) + slept_ns, 200, 5, "10.0.0.7:5432", "", 0, 0},
                             json::array{at_ms(11) + slept_ns, 0, 11, "10.0.0.7:5432", "", 0, 300}};
    EXPECT_EQ(json::serialize(seen.at("wait_files")), json::serialize(wanted));
    EXPECT_EQ(json::serialize(seen.at("wait_sockets")), "[77,77]");
}

TEST_F(Merge, KeepsWhoseDataDisksWrite) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    capture.thread(200, 200, "thread");
    lagtrap_written file{};
    file.file = 7;
    file.bytes = 1 << 20;
    std::strcpy(file.name, "vda");
    capture.written(10, file, std::string_view("big\x1b\0srv\0", 9));
    lagtrap_written writer{};
    writer.file = 7;
    writer.pid = 200;
    capture.written(11, writer, "");
    lagtrap_written ended{};
    ended.pid = 300;
    ended.bytes = 2 << 20;
    ended.ended_ns = at_ms(9);
    std::strcpy(ended.name, "dd");
    capture.written(12, ended, "");
    capture.flush();
    ASSERT_TRUE(merge());
    const json::array wanted{
        json::array{
            at_ms(10) + slept_ns,
            json::object{
                {"file", 7}, {"bytes", 1 << 20}, {"path", "/srv/big\\x1b"}, {"name", "vda"}}},
        json::array{at_ms(11) + slept_ns,
                    json::object{{"file", 7}, {"path", "/srv/big\\x1b"}, {"pid", 200}}},
        json::array{
            at_ms(12) + slept_ns,
            json::object{
                {"bytes", 2 << 20}, {"name", "dd"}, {"pid", 300}, {"ended", at_ms(9) + slept_ns}}}};
    EXPECT_EQ(decoded(trace()).at("written"), json::value(wanted));
}

TEST_F(Merge, KeepsWhatFillsAControlGroup) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    capture.thread(200, 200, "thread");
    lagtrap_group_memory memory{};
    memory.pid = 200;
    memory.limit_bytes = 80;
    memory.used_bytes = 79;
    memory.file_bytes = 60;
    memory.anonymous_bytes = 10;
    memory.shared_bytes = 5;
    memory.filler_pid = 300;
    memory.filler_bytes = 1000;
    capture.group_memory(10, memory, "/small\x1b");
    capture.flush();
    ASSERT_TRUE(merge());
    const json::array wanted{json::object{{"pid", 200},
                                          {"path", "/small\\x1b"},
                                          {"limit", 80},
                                          {"used", 79},
                                          {"file", 60},
                                          {"anonymous", 10},
                                          {"shared", 5},
                                          {"filler", 300},
                                          {"filler_bytes", 1000}}};
    EXPECT_EQ(decoded(trace()).at("group_memory"), json::value(wanted));
}

TEST_F(Merge, KeepsWhatThreadsWaitFor) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    capture.thread(200, 200, "thread");
    capture.thread(300, 300, "sleeper", 1, 0, 5, -1000, 88);
    capture.user_stack(1, 5, 300, {0x1000});
    capture.switched(10, 0, 200, 200, 1, 0, 0, 0, 0, 77, 201);
    capture.switched(11, 1, 200, 201, 1, 0, 0);
    capture.flush();
    ASSERT_TRUE(merge());
    const json::value seen = decoded(trace());
    json::array found;
    for (const json::value& wait : seen.at("wait_objects").as_array())
        found.push_back(json::array{wait.at(1), wait.at(2), wait.at(3)});
    EXPECT_EQ(json::serialize(found), "[[300,88,0],[200,77,201]]");
}

// Threads that existed before the recording began, and may have ended.
TEST_F(Merge, KeepsTheHistory) {
    Session session = synthetic_session();
    session.history_length_ns = 5'000'000'000;
    session.history_interval_ns = 20'000'000;
    SyntheticCapture capture(capture_.path(), session);
    capture.thread(200, 200, "thread");
    lagtrap_history_sample sample{};
    sample.pid = 700;
    sample.tid = 701;
    std::strcpy(sample.comm, "worker");
    std::strcpy(sample.process, "gone");
    std::strcpy(sample.comm, "sh");
    capture.history_sample(-60, 1, sample);
    std::strcpy(sample.comm, "worker");
    capture.history_sample(-40, 1, sample);
    lagtrap_history_wait wait{};
    wait.begin_ns = at_ms(-30);
    wait.pid = wait.tid = 200;
    wait.waker_pid = wait.waker_tid = 800;
    wait.in_run = 1;
    std::strcpy(wait.waker, "waker");
    wait.user_stack_id = 5;
    wait.waker_user_stack_id = 6;
    capture.user_stack(-30, 5, 200, {0x1000});
    capture.user_stack(-10, 6, 800, {0x2000});
    capture.history_wait(-10, 0, wait);
    capture.flush();
    ASSERT_TRUE(merge());
    const json::value reported = decoded(trace());
    EXPECT_EQ(reported.at("counts").at("history"), 4);
    EXPECT_EQ(json::serialize(reported.at("threads").at("701")), R"([700,"worker"])");
    EXPECT_EQ(json::serialize(reported.at("threads").at("700")), R"([700,"gone"])");
    EXPECT_EQ(json::serialize(reported.at("threads").at("800")), R"([800,"waker"])");
    EXPECT_EQ(reported.at("history_stacks").as_object().size(), 2);
    const auto& waits = reported.at("history_waits").as_array();
    ASSERT_EQ(waits.size(), 2);
    EXPECT_EQ(waits[0].at(0), at_ms(-10) + slept_ns);
    EXPECT_EQ(waits[0].at(1), 200);
    EXPECT_EQ(waits[0].at(2).at("begin"), at_ms(-30) + slept_ns);
    EXPECT_EQ(waits[0].at(2).at("waker"), 800);
    EXPECT_EQ(waits[1].at(1), 800);
    EXPECT_EQ(waits[1].at(2).at("of_waker"), 1);
}

// The sampler meets this on a machine that starts programs all the time.
TEST_F(Merge, AThreadThatBeganBeforeTheFirstRecordIsToldOfBeforeItsSample) {
    Session session = synthetic_session();
    session.history_length_ns = 5'000'000'000;
    session.history_interval_ns = 20'000'000;
    SyntheticCapture capture(capture_.path(), session);
    capture.fork(-61, 700, 701, 700, 700);
    lagtrap_history_sample sample{};
    sample.pid = 700;
    sample.tid = 701;
    std::strcpy(sample.comm, "worker");
    std::strcpy(sample.process, "worker");
    capture.history_sample(-60, 1, sample);
    capture.flush();
    ASSERT_TRUE(merge());
    EXPECT_EQ(decoded(trace()).at("counts").at("history"), 1);
}

}  // namespace
}  // namespace lagtrap::trace::merge_waits_test
