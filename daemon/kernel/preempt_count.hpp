// Where the kernel keeps what tells interrupts from threads.
#pragma once

#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

// How many bytes after a CPU's run queue its preempt count is, from the kernel's BTF. Nothing where that does not tell: no
// BTF, another architecture. As dear as kernel_types().
[[nodiscard]] std::optional<std::int64_t> preempt_count_after_run_queue();

}  // namespace lagtrap::daemon
