#include <cstring>

#include "tests/unit/trace/merge_fixture.hpp"

namespace lagtrap::trace {
namespace {

TEST_F(Merge, KeepsWhatEndedWaits) {
    SyntheticCapture capture(capture_.path(), synthetic_session());
    for (const std::uint32_t tid : {100U, 200U, 300U}) capture.thread(tid, tid, "thread");
    lagtrap_waking record{};
    record.waker_pid = record.waker_tid = 100;
    record.wakee_pid = record.wakee_tid = 200;
    capture.waking(10, 0, record);  // as recorders wrote it before there were causes
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
    const auto add = [&](double ms, int waker, int flags, int cause, int number, const char* device) {
        wanted.push_back(json::array{at_ms(ms) + boottime_offset_ns, waker, 200, flags, cause, number, device});
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
    const auto add = [&](double ms, int kind, const char* path, const char* disk, int depth, int holder) {
        wanted.push_back(json::array{at_ms(ms) + boottime_offset_ns, 200, kind, path, disk, depth, holder});
    };
    add(10, 1, "/var/app/a\\x1b log", "vda", 3, 0);
    add(11, 1, "/var/app/a\\x1b log", "vda", 3, 0);
    add(12, 3, "", "", 0, 300);
    EXPECT_EQ(json::serialize(decoded(trace()).at("wait_files")), json::serialize(wanted));
}

}  // namespace
}  // namespace lagtrap::trace
