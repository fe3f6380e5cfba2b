#include <map>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/reports/explanation.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

constexpr std::size_t line_width = 110;

const object* find_event(const object& answer, const std::string& name,
                         std::vector<std::string>& names) {
    for (const auto& value : list(answer, "events")) {
        if (!value.is_object()) continue;
        names.push_back(text(value.as_object(), "name"));
        if (names.back() == name) return &value.as_object();
    }
    return nullptr;
}

std::string wrapped(const std::string& first_margin, const std::string& words) {
    std::string lines, line = first_margin;
    const std::string margin(first_margin.size(), ' ');
    std::size_t at = 0;
    while (at < words.size()) {
        const auto end = std::min(words.find(' ', at), words.size());
        const std::string word = words.substr(at, end - at);
        if (line.size() > margin.size() && line.size() + word.size() + 1 > line_width) {
            lines += line + "\n";
            line = margin;
        }
        line += (line.size() > margin.size() ? " " : "") + word;
        at = end + 1;
    }
    return lines + line + "\n";
}

object json_of(const Explanation& explanation) {
    boost::json::array findings;
    for (const auto& [kind, sentence, next] : explanation.findings)
        findings.push_back({{"kind", kind}, {"sentence", sentence}, {"next", next}});
    return {{"event", explanation.event}, {"findings", std::move(findings)}};
}

std::string text_of(const Explanation& explanation, const Paint& paint) {
    std::string shown = wrapped("", explanation.event) + "\n", next;
    for (const auto& finding : explanation.findings) {
        shown += wrapped("  ", finding.sentence);
        if (!finding.next.empty()) next += wrapped("  - ", finding.next);
    }
    if (!next.empty()) shown += "\n" + paint(Colour::Bold, "Next") + "\n" + next;
    return shown;
}

}  // namespace

int explain_event(const ControlOptions& options, Console& console) {
    const auto answer = ask_daemon(options.socket, {{"command", "status"}});
    if (!answer) return console.fail(answer.error().message);
    std::vector<std::string> names;
    const object* const event = find_event(*answer, options.event, names);
    if (event == nullptr) {
        const std::string nearest = nearest_name(options.event, names);
        return console.fail("the active settings have no event \"" + printable(options.event) +
                            "\"" +
                            (nearest.empty() ? "; \"lagtrap status\" lists them"
                                             : "; did you mean " + nearest + "?"));
    }
    std::map<std::string, ProgramProcesses> processes;
    if (number(*event, "hits") == 0)
        for (const std::string& binary : binaries_of(*event))
            processes.emplace(binary, processes_of(binary));
    const Explanation explanation = explain(*answer, *event, processes);
    console.out << (options.json ? boost::json::serialize(json_of(explanation)) + "\n"
                                 : text_of(explanation, console.paint));
    return exit_done;
}

}  // namespace lagtrap::cli
