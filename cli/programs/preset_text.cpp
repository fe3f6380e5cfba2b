#include "cli/programs/preset_text.hpp"

#include <algorithm>
#include <map>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/console/text_layout.hpp"
#include "core/duration.hpp"
#include "settings/threshold_rule.hpp"

namespace lagtrap::cli {

using settings::Preset;

namespace {

namespace json = boost::json;

constexpr std::size_t names_shown = 4;

// "in nginx (3 processes), curl (1 process) and 4 other programs"
std::string running_text(const std::vector<const MappedProcess*>& running) {
    std::map<std::string, std::size_t> counts;
    for (const MappedProcess* process : running) ++counts[process->name];
    std::vector<std::pair<std::size_t, std::string>> most;
    for (const auto& [name, count] : counts) most.emplace_back(count, name);
    std::sort(most.rbegin(), most.rend());
    std::string text;
    for (std::size_t i = 0; i < std::min(names_shown, most.size()); ++i)
        text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", most[i].second,
                            counted(most[i].first, "process", "processes"));
    if (most.size() > names_shown)
        text +=
            fmt::format(" and {}", counted(most.size() - names_shown, "other name", "other names"));
    return text;
}

std::string trace_length_of(const settings::Element& event) {
    if (event.attribute("trace-length")) return std::string(event.text_of("trace-length"));
    const bool has_rule = settings::threshold_rule_of(event.text_of("threshold")).has_value();
    const std::chrono::nanoseconds threshold(
        static_cast<std::int64_t>(event.number_of("threshold")));
    return format_duration(settings::default_trace_length(threshold, has_rule));
}

}  // namespace

Presence presence_of(const Preset& preset, const std::vector<MappedProcess>& processes) {
    const std::vector<std::string> binaries = binaries_of(preset);
    Presence presence{binaries.empty(), settings::installed_programs(preset.programs), {}};
    for (const MappedProcess& process : processes)
        if (uses_one_of(process, binaries)) presence.running.push_back(&process);
    return presence;
}

std::string presence_text(const Presence& presence) {
    if (!presence.running.empty()) return "runs: " + running_text(presence.running);
    if (!presence.installed.empty()) return "installed: " + presence.installed.front();
    return presence.kernel ? "kernel: any program" : "not installed";
}

json::object presence_json(const Presence& presence) {
    json::array pids;
    for (const MappedProcess* process : presence.running) pids.push_back(process->pid);
    return {{"installed", json::value_from(presence.installed)}, {"processes", std::move(pids)}};
}

json::object preset_json(const Preset& preset) {
    json::array events;
    for (const settings::Element& event : preset.events)
        events.push_back(json::object{{"name", event.text_of("name")},
                                      {"threshold", event.text_of("threshold")},
                                      {"trace_length", trace_length_of(event)}});
    return {{"name", preset.name},
            {"file", preset.file.string()},
            {"about", preset.about},
            {"tried_with", preset.tried_with},
            {"limits", json::value_from(preset.limits)},
            {"scope", preset.may_have_scope},
            {"events", std::move(events)}};
}

std::string preset_parameters_text(const Preset& preset, std::size_t columns) {
    std::string events, thresholds, lengths;
    for (const settings::Element& event : preset.events) {
        events += fmt::format("{}{}", events.empty() ? "" : " ", event.text_of("name"));
        thresholds +=
            fmt::format("{}{}", thresholds.empty() ? "" : ", ", event.text_of("threshold"));
        lengths += fmt::format("{}{}", lengths.empty() ? "" : ", ", trace_length_of(event));
    }
    std::string binaries;
    for (const std::string& binary : binaries_of(preset))
        binaries += (binaries.empty() ? "" : ", ") + binary;
    std::string text =
        wrap_words("events=\"" + events + "\": which events; default: all", columns, 2);
    text += wrap_words("threshold=: for all of them; default: " + thresholds, columns, 2);
    text += wrap_words("trace-length=: how long to record; default: " + lengths, columns, 2);
    text += wrap_words("prefix=: prefix for the event names; default: none", columns, 2);
    text += wrap_words("record=\"runs\": send every run to the server; default: only delays",
                       columns, 2);
    if (!binaries.empty())
        text += wrap_words("binary=: the program or library; default: " + binaries, columns, 2);
    text += preset.may_have_scope
                ? wrap_words("<scope .../> inside: limits the processes; default: all", columns, 2)
                : wrap_words("no <scope>: the kernel cannot attribute its runs to a process",
                             columns, 2);
    return text;
}

}  // namespace lagtrap::cli
