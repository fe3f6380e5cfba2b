// lagtrap objects --connect: shows an object trace that another machine sends.
#pragma once

#include <cstdint>

#include "cli/console/console.hpp"
#include "cli/objects/objects_options.hpp"

namespace lagtrap::cli {

// Runs until the watch ends or an interrupt; returns the exit code. Calls longer than `marked_ns`
// are marked.
[[nodiscard]] int follow_objects(const ObjectsOptions& options, Console& console,
                                 std::uint64_t marked_ns);

}  // namespace lagtrap::cli
