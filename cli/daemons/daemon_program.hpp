// Where lagtrapd is.
#pragma once

#include <string>
#include <vector>

namespace lagtrap::cli {

// From the same build or installation, otherwise its name, to be found in PATH.
[[nodiscard]] std::string find_daemon();

// Its command line to say how many recordings the settings in `file` would have caused, compared to
// `settings`, those in use.
[[nodiscard]] std::vector<std::string> rehearsal_by(const std::string& program,
                                                    const std::string& file,
                                                    const std::string& settings, bool json);

}  // namespace lagtrap::cli
