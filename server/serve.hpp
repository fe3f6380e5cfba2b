// Runs the server: builds its parts, serves until it is stopped, and maintains the store.
#pragma once

#include "server/options.hpp"

namespace lagtrap::server {

// The unit does not restart the program after wrong_options.
enum ExitCode { done = 0, failed = 1, wrong_options = 2 };

// Serves until SIGTERM or SIGINT; writes the log. Returns the program's exit code.
[[nodiscard]] int serve(Options& options);

}  // namespace lagtrap::server
