#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "settings/parser.hpp"

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
    return {{"ok", outcome.ok()},
            {"file", file},
            {"events", outcome.settings.events.size()},
            {"errors", std::move(errors)}};
}

}  // namespace

int check_settings(const CheckOptions& options, Console& console) {
    const auto outcome = settings::load_settings(options.file, settings::BinaryCheck::Look);
    if (options.json) {
        console.out << boost::json::serialize(outcome_json(options.file, outcome)) << "\n";
    } else if (outcome.ok()) {
        console.out << options.file << ": " << outcome.settings.events.size() << " events, no errors\n";
    } else {
        console.err << settings::format_diagnostics(options.file, outcome.settings.source_text, outcome.diagnostics);
    }
    return outcome.ok() ? exit_done : exit_bad_settings;
}

}  // namespace lagtrap::cli
