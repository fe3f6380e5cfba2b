#include "analysis/wake_cause.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::wake_cause_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(WakeCauses, HaveOneWord) {
    const std::vector<std::string> words{"unknown",     "thread", "timeout", "timer",
                                         "packet",      "disk",   "device",  "interrupt",
                                         "delayed-ack", "signal", "killed"};
    for (std::size_t cause = 0; cause < words.size(); ++cause)
        EXPECT_EQ(name_of(static_cast<WakeCause>(cause)), words[cause]);
    EXPECT_EQ(name_of(static_cast<WakeCause>(11)), "unknown");
}

WakerReport waker(WakeCause cause, const std::string& device = "") {
    WakerReport made;
    made.interrupt = true;
    made.cause = cause;
    made.device = device;
    made.count = 12;
    return made;
}

TEST(WakeCauses, NameTheDeviceThatEndedTheWaits) {
    EXPECT_EQ(to_text(waker(WakeCause::Timer)), "a timer ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Packet)), "a packet from the network ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Packet, "eth0")),
              "a packet from the network (eth0) ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Packet, "lo")),
              "a packet of this machine (lo) ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Disk)), "a disk ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Disk, "vda")), "the disk vda ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Device)), "a device ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Device, "snd")), "the device snd ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Interrupt)), "an interrupt ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::DelayedAck)), "an ACK that TCP had delayed ended 12 waits");
    EXPECT_EQ(to_text(waker(WakeCause::Unknown)), "a timer or device ended 12 waits");
    WakerReport one = waker(WakeCause::Disk, "vda");
    one.count = 1;
    EXPECT_EQ(to_text(one), "the disk vda ended 1 wait");
}

TEST(WakeCauses, TimeoutsHaveTheirLengths) {
    WakerReport timeout = waker(WakeCause::Timeout);
    timeout.count = 3;
    timeout.shortest_ns = 4 * ms;
    timeout.longest_ns = 9 * ms;
    timeout.reason = "events";
    EXPECT_EQ(to_text(timeout), "3 waits of 4.00 ms to 9.00 ms timed out");
    timeout.longest_is_cut = true;
    EXPECT_EQ(to_text(timeout), "3 waits of 4.00 ms to at least 9.00 ms timed out");
    timeout.longest_is_cut = false;
    timeout.shortest_ns = timeout.longest_ns;
    EXPECT_EQ(to_text(timeout), "3 waits of 9.00 ms timed out");
    timeout.count = 1;
    timeout.shortest_ns = 0;
    EXPECT_EQ(to_text(timeout), "1 wait of 9.00 ms timed out");
    for (const std::string reason : {"sleep", "sleep (timer)"}) {
        timeout.reason = reason;
        EXPECT_EQ(to_text(timeout), "the thread's own timer ended 1 wait of 9.00 ms");
    }
}

}  // namespace
}  // namespace lagtrap::analysis::wake_cause_test
