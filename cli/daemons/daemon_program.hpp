// Where lagtrapd is.
#pragma once

#include <string>

namespace lagtrap::cli {

// From the same build or installation, otherwise its name, to be found in PATH.
[[nodiscard]] std::string find_daemon();

}  // namespace lagtrap::cli
