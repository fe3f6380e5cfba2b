// Reads a settings file: text, then elements with positions, then checked Settings. Reports all
// errors, not only the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::settings {

// An error: where it is, what was found, what is allowed, and how to fix it.
struct Diagnostic {
    std::uint32_t line = 0;  // from 1; 0 for the file as a whole
    std::uint32_t column = 0;
    std::string found;
    std::string allowed;
    std::string hint;  // may be empty
};

// A note or warning. Notes are about things that could not be checked, usually because only root
// may access them.
struct Note {
    std::uint32_t line = 0;  // from 1
    std::uint32_t column = 0;
    std::string text;
};

enum class BinaryCheck {
    Look,  // also check the machine: that it has what is named, and that the daemon can watch it
    Skip,  // check only the file
};

// Either settings or at least one diagnostic. All lists are sorted by place.
struct ParseOutcome {
    Settings settings;
    std::vector<Diagnostic> diagnostics;
    std::vector<Note> notes;     // with or without diagnostics
    std::vector<Note> warnings;  // likewise: what works but is unsafe
    [[nodiscard]] bool ok() const { return diagnostics.empty(); }
};

[[nodiscard]] ParseOutcome parse_settings(std::string_view text, BinaryCheck check);
[[nodiscard]] ParseOutcome load_settings(const std::filesystem::path& path, BinaryCheck check);

// "FILE:LINE:COLUMN: found; allowed", the source line with a caret below it, and "hint: ...".
// Printable characters only.
[[nodiscard]] std::string format_diagnostics(const std::filesystem::path& path,
                                             std::string_view text,
                                             const std::vector<Diagnostic>& diagnostics);
// One line each: "FILE:LINE:COLUMN: warning: ..." or "FILE:LINE:COLUMN: note: ...". Printable
// characters only.
[[nodiscard]] std::string format_notes(const std::filesystem::path& path,
                                       const ParseOutcome& outcome);
// "FILE: 3 events, no errors", and how much could not be checked. For an outcome without errors.
[[nodiscard]] std::string success_line(const std::filesystem::path& path,
                                       const ParseOutcome& outcome);

}  // namespace lagtrap::settings
