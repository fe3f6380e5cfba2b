// Finds the kernel's preempt counter, which distinguishes interrupts from threads.
#pragma once

#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

// Distance from a CPU's run queue to its preempt counter in bytes, from the kernel's BTF. nullopt
// if unknown: there is no BTF, or this is another architecture. Costs as much as kernel_types().
[[nodiscard]] std::optional<std::int64_t> preempt_count_after_run_queue();

}  // namespace lagtrap::daemon
