// What a process that reads hostile bytes gives up.
#pragma once

#include "core/result.hpp"

namespace lagtrap::server {

// No file can be opened or written, nothing started, no socket made; 2 GiB of address space, 60 seconds of CPU. For
// good, for this process. An error if the kernel does not take it: then nothing hostile may be read.
[[nodiscard]] Status confine_process();

}  // namespace lagtrap::server
