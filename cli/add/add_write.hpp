// Adds new events to the settings, which stay valid or unchanged, and makes the daemon reload them.
#pragma once

#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

// Adds the elements to the file. Replaces the file atomically and keeps its comments, owner and
// mode. Fails, with the message of the settings check, if the result would not be valid on this
// machine.
[[nodiscard]] Status add_to_settings(const std::string& path, const std::string& elements);

// Makes the daemon behind this socket reload its settings, if it uses this file, and waits until it
// has. Returns a sentence about that; the error says why the daemon refused them.
[[nodiscard]] Result<std::string> reload_daemon(const std::string& socket, const std::string& path);

}  // namespace lagtrap::cli
