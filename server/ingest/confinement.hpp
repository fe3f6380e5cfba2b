// The sandbox of the process that reads untrusted bundles.
#pragma once

#include "core/result.hpp"

namespace lagtrap::server {

// Sandboxes this process for good: it cannot open or write files, start programs or create sockets,
// and has at most 2 GiB of address space and 60 s of CPU time. On an error (the kernel lacks
// support), do not read untrusted bytes.
[[nodiscard]] Status confine_process();

}  // namespace lagtrap::server
