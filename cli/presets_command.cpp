#include <algorithm>
#include <map>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/programs/preset_matches.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"
#include "settings/element_text.hpp"
#include "settings/preset.hpp"
#include "settings/threshold_rule.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using settings::Preset;

constexpr int exit_bad_preset = 3;
constexpr std::size_t names_shown = 4;

// Which of a preset's programs are present.
struct Presence {
    bool kernel = false;  // it uses kernel markers
    std::vector<std::string> installed;
    std::vector<const MappedProcess*> running;
};

Presence presence_of(const Preset& preset, const std::vector<MappedProcess>& processes) {
    const std::vector<std::string> binaries = binaries_of(preset);
    Presence presence{binaries.empty(), settings::installed_programs(preset.programs), {}};
    for (const MappedProcess& process : processes)
        if (uses_one_of(process, binaries)) presence.running.push_back(&process);
    return presence;
}

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

std::string trace_length_of(const settings::Element& event) {
    if (event.attribute("trace-length")) return std::string(event.text_of("trace-length"));
    const bool has_rule = settings::threshold_rule_of(event.text_of("threshold")).has_value();
    const std::chrono::nanoseconds threshold(
        static_cast<std::int64_t>(event.number_of("threshold")));
    return format_duration(settings::default_trace_length(threshold, has_rule));
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

int list_presets(bool as_json, Console& console) {
    const std::vector<std::string> names = settings::preset_names();
    if (names.empty()) {
        std::string folders;
        for (const auto& folder : settings::preset_folders())
            folders += (folders.empty() ? "" : " and ") + folder.string();
        return console.fail("no presets in " + folders + "; the package lagtrapd contains them");
    }
    const auto processes = mapped_processes();
    json::array list;
    bool all_good = true;
    for (const std::string& name : names) {
        const auto file = settings::find_preset(name);
        if (!file) continue;  // removed in the meantime
        const auto loaded = settings::load_preset(*file);
        if (!loaded.preset) {
            console.err << settings::format_diagnostics(*file, loaded.text, loaded.diagnostics);
            all_good = false;
            continue;
        }
        const Presence presence = presence_of(*loaded.preset, processes);
        if (as_json) {
            json::object one = preset_json(*loaded.preset);
            one["here"] = presence_json(presence);
            list.push_back(std::move(one));
            continue;
        }
        console.out << console.paint(Colour::Bold, printable(name)) << "\n"
                    << wrap_words(loaded.preset->about, console.columns, 2)
                    << wrap_words(presence_text(presence), console.columns, 2);
    }
    if (as_json) console.out << json::serialize(list) << "\n";
    if (!as_json)
        console.out
            << "\nAdd <use preset=\"NAME\"/> to the settings; `lagtrap presets NAME` shows one.\n";
    return all_good ? exit_done : exit_bad_preset;
}

// The parameters of <use>, each with its default.
std::string parameters_text(const Preset& preset, std::size_t columns) {
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

int show_preset(const Preset& preset, bool as_json, Console& console) {
    const Presence presence = presence_of(preset, mapped_processes());
    std::string xml;
    for (const settings::Element& event : preset.events) xml += settings::element_text(event, 2);
    if (as_json) {
        json::object one = preset_json(preset);
        one["here"] = presence_json(presence);
        one["xml"] = xml;
        console.out << json::serialize(one) << "\n";
        return exit_done;
    }
    const auto heading = [&](std::string_view text) {
        console.out << "\n" << console.paint(Colour::Bold, text) << "\n";
    };
    console.out << console.paint(Colour::Bold, printable(preset.name)) << "  "
                << printable(preset.file.string()) << "\n"
                << wrap_words(preset.about, console.columns, 2)
                << wrap_words("tested with " + preset.tried_with, console.columns, 2)
                << wrap_words(presence_text(presence), console.columns, 2);
    if (!preset.limits.empty()) heading("Limits");
    for (const std::string& limit : preset.limits)
        console.out << wrap_words(limit, console.columns, 2);
    heading("Parameters of <use>");
    console.out << parameters_text(preset, console.columns);
    heading("Use in the settings");
    console.out << fmt::format("  <use preset=\"{}\"/>\n", printable(preset.name));
    heading("Short for");
    console.out << xml;
    return exit_done;
}

}  // namespace

int show_presets(const PresetOptions& options, Console& console) {
    if (options.name.empty()) return list_presets(options.json, console);
    std::filesystem::path file = options.name;
    if (options.name.find('/') == std::string::npos) {
        const auto found = settings::find_preset(options.name);
        if (!found) {
            const std::string question = settings::ask_about_preset(options.name);
            return console.fail(found.error().message + "; " +
                                (question.empty() ? "`lagtrap presets` lists all" : question));
        }
        file = *found;
    }
    const auto loaded = settings::load_preset(file);
    if (loaded.preset) return show_preset(*loaded.preset, options.json, console);
    console.err << settings::format_diagnostics(file, loaded.text, loaded.diagnostics);
    return exit_bad_preset;
}

}  // namespace lagtrap::cli
