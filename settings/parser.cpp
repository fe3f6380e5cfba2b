#include "settings/parser.hpp"

#include <fmt/core.h>

#include "core/text.hpp"
#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/machine_check.hpp"
#include "settings/settings_file.hpp"
#include "settings/xml.hpp"

namespace lagtrap::settings {
namespace {

ParseOutcome refused(Diagnostic diagnostic) {
    ParseOutcome outcome;
    outcome.diagnostics.push_back(std::move(diagnostic));
    return outcome;
}

}  // namespace

ParseOutcome parse_settings(std::string_view text, BinaryCheck check) {
    if (text.size() > file_bytes_limit) return refused(too_large(text.size()));
    ParseOutcome outcome;
    Diagnostics diagnostics;
    const LineIndex index(without_byte_order_mark(text));
    if (const auto root = read_document(index, diagnostics)) {
        Built built = build_settings(*root, diagnostics);
        if (check == BinaryCheck::Look) check_machine(built.sources, diagnostics);
        outcome.settings = std::move(built.settings);
    }
    outcome.settings.source_text = text;
    outcome.diagnostics = diagnostics.take();
    outcome.notes = diagnostics.take_notes();
    outcome.warnings = diagnostics.take_warnings();
    return outcome;
}

ParseOutcome load_settings(const std::filesystem::path& path, BinaryCheck check) {
    auto text = read_settings_file(path, "a settings file");
    if (auto* problem = std::get_if<Diagnostic>(&text)) return refused(std::move(*problem));
    return parse_settings(std::get<std::string>(text), check);
}

std::string success_line(const std::filesystem::path& path, const ParseOutcome& outcome) {
    const std::size_t events = outcome.settings.events.size(), notes = outcome.notes.size();
    std::string line = fmt::format("{}: {} event{}, no errors", printable(path.string()), events,
                                   events == 1 ? "" : "s");
    if (notes == 1) line += "; 1 marker or file could not be checked";
    if (notes > 1) line += fmt::format("; {} markers or files could not be checked", notes);
    return line + "\n";
}

}  // namespace lagtrap::settings
