// The options of `lagtrap` and its commands.
#pragma once

#include "cli/console/console.hpp"

namespace lagtrap::cli {

// Runs the command given by the arguments. Returns the exit code: 0 done, 1 failed, 2 wrong usage.
[[nodiscard]] int run_command_line(int argc, const char* const* argv, Console& console);

}  // namespace lagtrap::cli
