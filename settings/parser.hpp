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

// Something of the machine that this user may not look at, so that nobody knows whether the settings are right there.
struct Note {
    std::uint32_t line = 0;  // from 1
    std::uint32_t column = 0;
    std::string text;
};

enum class BinaryCheck {
    Look,  // binaries and the kernel must have what is named, in such a form that the daemon can watch it
    Skip,  // the file alone
};

// Either settings or at least one diagnostic, in order of their place.
struct ParseOutcome {
    Settings settings;
    std::vector<Diagnostic> diagnostics;
    std::vector<Note> notes;     // in order of their place, beside either
    std::vector<Note> warnings;  // the same: what works, and is not safe
    [[nodiscard]] bool ok() const { return diagnostics.empty(); }
};

[[nodiscard]] ParseOutcome parse_settings(std::string_view text, BinaryCheck check);
[[nodiscard]] ParseOutcome load_settings(const std::filesystem::path& path, BinaryCheck check);

// "FILE:LINE:COLUMN: found; allowed", the line with a caret below, and "hint: ...". Printable characters only.
[[nodiscard]] std::string format_diagnostics(const std::filesystem::path& path, std::string_view text,
                                             const std::vector<Diagnostic>& diagnostics);
// "FILE:LINE:COLUMN: warning: ..." and "FILE:LINE:COLUMN: note: ..." for each. Printable characters only.
[[nodiscard]] std::string format_notes(const std::filesystem::path& path, const ParseOutcome& outcome);
// "FILE: 3 events, no errors", and how much could not be checked. Of an outcome without errors.
[[nodiscard]] std::string success_line(const std::filesystem::path& path, const ParseOutcome& outcome);

}  // namespace lagtrap::settings
