// What the programs in the kernel are told of an instruction by which a function may be left.
#pragma once

#include <cstdint>

#include "binaries/code/return_sites.hpp"
#include "bpf/listener.h"

namespace lagtrap::daemon {

// Where a jump or a call through a pointer leads to.
[[nodiscard]] lagtrap_argument target_argument(const binaries::JumpTarget& target);

// Where an indirect jump leads to, and what counts as staying.
[[nodiscard]] lagtrap_exit_site exit_site_of(const binaries::FunctionExit& exit);

// The upper 32 bits of the probe's cookie. `site`: the number of exit_site_of() in the programs' map, of an exit by_target.
[[nodiscard]] std::uint64_t exit_cookie_of(const binaries::FunctionExit& exit, std::uint64_t site);

}  // namespace lagtrap::daemon
