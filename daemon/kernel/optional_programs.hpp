// BPF programs for tracepoints that not every kernel has.
#pragma once

#include <span>
#include <vector>

#include "core/result.hpp"
#include "daemon/kernel/libbpf_support.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// Prevents the loading of programs (sections "tp_btf/NAME") whose tracepoint the kernel does not
// have. Costs as much as kernel_types().
void leave_out_missing(std::span<bpf_program* const> programs);

// Attaches the loaded ones. Errors: the kernel refuses one.
[[nodiscard]] Result<std::vector<Link>> attach_loaded(std::span<bpf_program* const> programs);

// Descriptors of the loaded ones.
[[nodiscard]] std::vector<int> loaded_fds(std::span<bpf_program* const> programs);

}  // namespace lagtrap::daemon
