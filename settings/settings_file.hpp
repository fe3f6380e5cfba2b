// Reads the text of a settings file or preset from disk.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "settings/parser.hpp"

namespace lagtrap::settings {

// Returns the file's text, at most file_bytes_limit, or a diagnostic for the file as a whole. Does
// not block on a pipe. `what` is "a settings file" or "a preset".
[[nodiscard]] std::variant<std::string, Diagnostic> read_settings_file(
    const std::filesystem::path& path, std::string_view what);

// The diagnostic for a text of this size, which is too large.
[[nodiscard]] Diagnostic too_large(std::uint64_t bytes);

}  // namespace lagtrap::settings
