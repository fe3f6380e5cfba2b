// The server at work: makes its parts, serves until it is told to stop, and looks after the store meanwhile.
#pragma once

#include "server/options.hpp"

namespace lagtrap::server {

// The unit does not restart the program after wrong_options.
enum ExitCode { done = 0, failed = 1, wrong_options = 2 };

// Until SIGTERM or SIGINT; logs. Gives the program's exit code.
[[nodiscard]] int serve(Options& options);

}  // namespace lagtrap::server
