// What the kernel's own counts say of a delay for the time that the recording does not know: where it went, and its longest
// waits, without stacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/records.h"
#include "trace/run_batches/time_parts.hpp"

namespace lagtrap::trace {

// Of lagtrap_waker: "thread", "interrupt", "softirq"; "unknown" for all else.
[[nodiscard]] std::string_view waker_name(std::uint32_t waker);
[[nodiscard]] std::uint32_t waker_of(std::string_view name);

// Times are offsets from the delay's begin. The parts are of thread `tid`, from `from_offset_ns` to `until_offset_ns`.
struct RunSoFar : TimeParts {
    struct Wait {
        std::uint64_t offset_ns = 0;
        std::uint64_t length_ns = 0;
        std::uint32_t wait_class = LAGTRAP_WAIT_OTHER;
        std::uint32_t waker = LAGTRAP_WAKER_UNKNOWN;  // enum lagtrap_waker: who ended it
        std::uint32_t waker_pid = 0;                  // of a thread; else 0
        std::uint32_t waker_tid = 0;
        std::string waker_thread{};  // its name then, printable
    };

    std::uint32_t tid = 0;              // 0: nothing is known
    std::uint64_t from_offset_ns = 0;   // the begin marker, or the last marker before the recording
    std::uint64_t until_offset_ns = 0;  // up to here
    // Before `from_offset_ns`, of runs whose key is not the thread: of each thread between its own markers.
    TimeParts earlier;
    std::vector<Wait> waits;  // the longest, by offset; at most LAGTRAP_KEPT_WAITS

    [[nodiscard]] bool known() const { return tid != 0; }
};

// As the record has it, of a run that began at `begin_ns`.
[[nodiscard]] RunSoFar run_so_far(const lagtrap_run_so_far& record, std::uint64_t begin_ns);

}  // namespace lagtrap::trace
