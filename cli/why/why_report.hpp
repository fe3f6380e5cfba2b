// What `lagtrap why` accepts, and what it prints of a recording.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/why/why_text.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// The length of a recording; errors name the option.
[[nodiscard]] Result<std::chrono::nanoseconds> recording_length(const char* option,
                                                                const std::string& text);

// Text, or JSON in a line. ErrorKind::Vanished if no process of the target is in the recording.
[[nodiscard]] Result<std::string> why_report(const analysis::Recording& recording,
                                             const WhyTarget& target, bool as_json,
                                             const WhyLook& look);

// One of several reports: on a terminal, it replaces the one before, and lines beyond the screen
// are left out.
[[nodiscard]] std::string round_on_screen(const std::string& report, std::size_t rows);
[[nodiscard]] std::string round_in_file(const std::string& report);

// With spaces in between.
[[nodiscard]] std::string words_of(const std::vector<std::string>& command);
// The exit code if a command could not be run, as of env(1).
[[nodiscard]] int exit_code_of_failed_start(const Error& error);

}  // namespace lagtrap::cli
