// Where a thread's time went according to the kernel's counters, which have no stacks or time
// stamps.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bpf/records.h"

namespace lagtrap::trace {

// Names of lagtrap_wait_class, as files and the server's database have them: "lock", "events", ...
// Unknown classes are "other".
[[nodiscard]] std::string_view wait_class_name(std::uint32_t wait_class);
[[nodiscard]] std::uint32_t wait_class_of(std::string_view name);

struct TimeParts {
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t throttled_ns = 0;                                // of runnable_ns
    std::array<std::uint64_t, LAGTRAP_WAIT_CLASSES> blocked_ns{};  // by lagtrap_wait_class

    // UINT64_MAX if the sum overflows.
    [[nodiscard]] std::uint64_t blocked_total_ns() const;
    [[nodiscard]] std::uint64_t total_ns() const;

    bool operator==(const TimeParts&) const = default;
};

// Converts a record. Time between a marker's time stamp and a preemption right after it may be
// counted on the wrong side of the marker. A part that is slightly negative for this reason is
// balanced by the others.
[[nodiscard]] TimeParts time_parts(const lagtrap_time_parts& record);

}  // namespace lagtrap::trace
