// BPF programs on tracepoints that not every kernel has.
#pragma once

#include <span>
#include <vector>

#include "core/result.hpp"
#include "daemon/kernel/libbpf_support.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// Keeps from being loaded those of the programs (sections "tp_btf/NAME") whose tracepoint the kernel does not describe.
// As dear as kernel_types().
void leave_out_missing(std::span<bpf_program* const> programs);

// Attaches those that are loaded. Errors: the kernel refuses one.
[[nodiscard]] Result<std::vector<Link>> attach_loaded(std::span<bpf_program* const> programs);

// Descriptors of those that are loaded.
[[nodiscard]] std::vector<int> loaded_fds(std::span<bpf_program* const> programs);

}  // namespace lagtrap::daemon
