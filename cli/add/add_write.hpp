// Writes new events into the settings, so that they stay valid or as they were, and has the daemon read them.
#pragma once

#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

// Adds the elements to the file, which is replaced at once or not at all; its comments, owner and mode stay. What the check of
// settings says against them, on this machine, is the error.
[[nodiscard]] Status add_to_settings(const std::string& path, const std::string& elements);

// Has the daemon behind this socket read its settings, if it is theirs, and waits until it has: a sentence on that. An error
// says why it did not take them.
[[nodiscard]] Result<std::string> reload_daemon(const std::string& socket, const std::string& path);

}  // namespace lagtrap::cli
