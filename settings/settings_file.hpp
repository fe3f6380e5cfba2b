// Reads the text of a settings file or preset from disk.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "settings/parser.hpp"

namespace lagtrap::settings {

// The file's text, at most file_bytes_limit, or why it cannot be had, as the error of the file as a whole. Never waits for a
// writer of a pipe. `what` is "a settings file" or "a preset".
[[nodiscard]] std::variant<std::string, Diagnostic> read_settings_file(const std::filesystem::path& path,
                                                                       std::string_view what);

// The error of a text of so many bytes, which is too large.
[[nodiscard]] Diagnostic too_large(std::uint64_t bytes);

}  // namespace lagtrap::settings
