#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/programs/preset_matches.hpp"
#include "cli/programs/preset_text.hpp"
#include "core/text.hpp"
#include "settings/element_text.hpp"
#include "settings/preset.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using settings::Preset;

constexpr int exit_bad_preset = 3;

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
    console.out << preset_parameters_text(preset, console.columns);
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
