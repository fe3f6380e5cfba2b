#include <boost/json.hpp>

#include "cli/bundles/confined_reading.hpp"
#include "cli/commands.hpp"
#include "settings/parser.hpp"
#include "settings/schema_file.hpp"
#include "settings/schema_text.hpp"

namespace lagtrap::cli {

namespace {

constexpr int exit_bad_settings = 3;

boost::json::object outcome_json(const std::string& file, const settings::ParseOutcome& outcome) {
    boost::json::array errors;
    for (const settings::Diagnostic& error : outcome.diagnostics) {
        errors.push_back(boost::json::object{{"line", error.line},
                                             {"column", error.column},
                                             {"found", error.found},
                                             {"allowed", error.allowed},
                                             {"hint", error.hint}});
    }
    boost::json::array notes;
    for (const settings::Note& note : outcome.notes)
        notes.push_back(boost::json::object{
            {"line", note.line}, {"column", note.column}, {"not_checked", note.text}});
    boost::json::array warnings;
    for (const settings::Note& warning : outcome.warnings)
        warnings.push_back(boost::json::object{
            {"line", warning.line}, {"column", warning.column}, {"found", warning.text}});
    return {{"ok", outcome.ok()},
            {"file", file},
            {"events", outcome.settings.events.size()},
            {"errors", std::move(errors)},
            {"notes", std::move(notes)},
            {"warnings", std::move(warnings)}};
}

}  // namespace

int check_settings(const CheckOptions& options, Console& console) {
    if (options.reference) {
        console.out << settings::settings_reference();
        return exit_done;
    }
    if (options.schema) {
        console.out << settings::settings_schema_file();
        return exit_done;
    }
    const auto reading = ConfinedReading::start();
    if (!reading) return console.fail(reading.error().message);
    const auto outcome = settings::load_settings(options.file, settings::BinaryCheck::Look);
    if (options.json) {
        console.out << boost::json::serialize(outcome_json(options.file, outcome)) << "\n";
        return outcome.ok() ? exit_done : exit_bad_settings;
    }
    console.err << settings::format_notes(options.file, outcome);
    if (outcome.ok()) {
        console.out << settings::success_line(options.file, outcome);
    } else {
        console.err << settings::format_diagnostics(options.file, outcome.settings.source_text,
                                                    outcome.diagnostics);
    }
    return outcome.ok() ? exit_done : exit_bad_settings;
}

}  // namespace lagtrap::cli
