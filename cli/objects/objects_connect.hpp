// lagtrap objects --connect: what another machine sends, shown here.
#pragma once

#include <cstdint>

#include "cli/console/console.hpp"
#include "cli/objects/objects_options.hpp"

namespace lagtrap::cli {

// Until the watch ends or an interrupt comes; the exit code. Calls over `marked_ns` are marked.
[[nodiscard]] int follow_objects(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns);

}  // namespace lagtrap::cli
