// Where a thread's time went, as the kernel's own counts have it: no stacks, no moments.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bpf/records.h"

namespace lagtrap::trace {

// Of lagtrap_wait_class: "lock", "events", ... as files and the server's database have them. Unknown ones are "other".
[[nodiscard]] std::string_view wait_class_name(std::uint32_t wait_class);
[[nodiscard]] std::uint32_t wait_class_of(std::string_view name);

struct TimeParts {
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t throttled_ns = 0;                                // of runnable_ns
    std::array<std::uint64_t, LAGTRAP_WAIT_CLASSES> blocked_ns{};  // by lagtrap_wait_class

    // UINT64_MAX where they add up to more than that.
    [[nodiscard]] std::uint64_t blocked_total_ns() const;
    [[nodiscard]] std::uint64_t total_ns() const;

    bool operator==(const TimeParts&) const = default;
};

// As a record has them. The time between the clock of a marker and a preemption right after it may be counted on the wrong
// side of the marker: a part that is a little below zero by that is made up for from the others.
[[nodiscard]] TimeParts time_parts(const lagtrap_time_parts& record);

}  // namespace lagtrap::trace
