// Encodes for the BPF programs how an instruction may leave a function.
#pragma once

#include <cstdint>

#include "binaries/code/return_sites.hpp"
#include "bpf/event_monitor.h"

namespace lagtrap::daemon {

// Where to find the target of a jump or call through a pointer.
[[nodiscard]] lagtrap_argument target_argument(const binaries::JumpTarget& target);

// The target of an indirect jump, and which targets stay within the function.
[[nodiscard]] lagtrap_exit_site exit_site_of(const binaries::FunctionExit& exit);

// The upper 32 bits of the probe's cookie. `site` is the number of exit_site_of() in the programs'
// map, for an exit with by_target.
[[nodiscard]] std::uint64_t exit_cookie_of(const binaries::FunctionExit& exit, std::uint64_t site);

}  // namespace lagtrap::daemon
