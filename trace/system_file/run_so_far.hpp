// What the kernel counted for a delay before the recording began: where its time went, and its
// longest waits, without stacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/records.h"
#include "trace/run_batches/time_parts.hpp"

namespace lagtrap::trace {

// Names of lagtrap_waker: "thread", "interrupt", "softirq"; "unknown" for all others.
[[nodiscard]] std::string_view waker_name(std::uint32_t waker);
[[nodiscard]] std::uint32_t waker_of(std::string_view name);

// Times are offsets from the delay's begin. The parts are those of thread `tid`, between
// `from_offset_ns` and `until_offset_ns`.
struct RunSoFar : TimeParts {
    struct Wait {
        std::uint64_t offset_ns = 0;
        std::uint64_t length_ns = 0;
        std::uint32_t wait_class = LAGTRAP_WAIT_OTHER;
        std::uint32_t waker = LAGTRAP_WAKER_UNKNOWN;  // enum lagtrap_waker: what ended the wait
        std::uint32_t waker_pid = 0;                  // if a thread; otherwise 0
        std::uint32_t waker_tid = 0;
        std::string waker_thread{};  // its name at the time, printable
    };

    std::uint32_t tid = 0;              // 0 if nothing is known
    std::uint64_t from_offset_ns = 0;   // begin marker, or last marker before the recording
    std::uint64_t until_offset_ns = 0;  // end of the counted time
    // Before `from_offset_ns`, for runs whose key is not the thread: what each thread did between
    // its own markers.
    TimeParts earlier;
    std::vector<Wait> waits;  // the longest, by offset; at most LAGTRAP_KEPT_WAITS

    [[nodiscard]] bool known() const { return tid != 0; }
};

// Converts the record of a run that began at `begin_ns`.
[[nodiscard]] RunSoFar run_so_far(const lagtrap_run_so_far& record, std::uint64_t begin_ns);

}  // namespace lagtrap::trace
