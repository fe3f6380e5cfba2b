// Reads a settings file: text -> elements with positions -> checked Settings. All errors are found, not only the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::settings {

// One error: where, what was found, what is allowed, and how to mend it.
struct Diagnostic {
    std::uint32_t line = 0;  // from 1; 0: the file as a whole
    std::uint32_t column = 0;
    std::string found;
    std::string allowed;
    std::string hint;  // may be empty
};

enum class BinaryCheck {
    Look,  // binaries must exist and hold the probes, functions and arguments named
    Skip,  // the file alone
};

// Either settings or at least one diagnostic, in order of their place.
struct ParseOutcome {
    Settings settings;
    std::vector<Diagnostic> diagnostics;
    [[nodiscard]] bool ok() const { return diagnostics.empty(); }
};

[[nodiscard]] ParseOutcome parse_settings(std::string_view text, BinaryCheck check);
[[nodiscard]] ParseOutcome load_settings(const std::filesystem::path& path, BinaryCheck check);

// "FILE:LINE:COLUMN: found; allowed", the line with a caret below, and "hint: ...". Printable characters only.
[[nodiscard]] std::string format_diagnostics(const std::filesystem::path& path, std::string_view text,
                                             const std::vector<Diagnostic>& diagnostics);

}  // namespace lagtrap::settings
