#include "analysis/wake_cause.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "analysis/block_reason.hpp"
#include "core/duration.hpp"

namespace lagtrap::analysis {

namespace {

std::string lengths(const WakerReport& waker) {
    const std::string shortest = format_duration_ns(waker.shortest_ns);
    const std::string longest =
        (waker.longest_is_cut ? "at least " : "") + format_duration_ns(waker.longest_ns);
    return waker.count == 1 || shortest == longest ? longest : shortest + " to " + longest;
}

std::string subject(const WakerReport& waker) {
    const std::string& device = waker.device;
    switch (waker.cause) {
        case WakeCause::Timer: return "a timer";
        case WakeCause::Packet:
            if (device == "lo") return "a packet of this machine (lo)";
            return device.empty() ? "a packet from the network"
                                  : "a packet from the network (" + device + ")";
        case WakeCause::Disk: return device.empty() ? "a disk" : "the disk " + device;
        case WakeCause::Device: return device.empty() ? "a device" : "the device " + device;
        case WakeCause::Interrupt: return "an interrupt";
        case WakeCause::DelayedAck: return "an ACK that TCP had delayed";
        default: return "a timer or device";
    }
}

}  // namespace

std::string_view name_of(WakeCause cause) {
    constexpr std::array<std::string_view, 11> names{
        "unknown", "thread",    "timeout",     "timer",  "packet", "disk",
        "device",  "interrupt", "delayed-ack", "signal", "killed"};
    const auto place = static_cast<std::size_t>(cause);
    return place < names.size() ? names[place] : names[0];
}

std::string to_text(const WakerReport& waker) {
    const std::string waits = std::to_string(waker.count) + (waker.count == 1 ? " wait" : " waits");
    if (waker.cause != WakeCause::Timeout) return subject(waker) + " ended " + waits;
    if (facts_of(find_block_reason(waker.reason)).kind == WaitKind::Sleep)
        return "the thread's own timer ended " + waits + " of " + lengths(waker);
    return waits + " of " + lengths(waker) + " timed out";
}

}  // namespace lagtrap::analysis
