#include "settings/preset.hpp"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/machine_root.hpp"
#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/event_builder.hpp"
#include "settings/program_name.hpp"
#include "settings/settings_file.hpp"
#include "settings/xml.hpp"

namespace lagtrap::settings {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view own_folder = "/etc/lagtrap/presets";
constexpr std::size_t presets_limit = 1024;  // per folder
constexpr std::size_t installed_limit = 64;
constexpr std::string_view extension = ".xml";

void check_event_names(const Element& root, Diagnostics& diagnostics) {
    std::set<std::string_view> names;
    for (const Element* event : root.children_of("event")) {
        const Attribute* name = event->attribute("name");
        if (name && name->valid && !names.insert(name->text).second)
            diagnostics.add(name->place, fmt::format("a second event {}", in_quotes(name->text)),
                            "expected unique event names");
    }
    if (names.empty())
        diagnostics.add(root.place, "the preset has no events", "expected at least one <event>");
}

Preset preset_of(const Element& root, const fs::path& file) {
    Preset preset;
    preset.name = file.stem().string();
    preset.file = file;
    preset.about = root.text_of("about");
    preset.tried_with = root.text_of("tried-with");
    preset.may_have_scope = root.text_of("scope") == "yes";
    for (const Element* program : root.children_of("program"))
        preset.programs.emplace_back(program->text_of("path"));
    for (const Element* limit : root.children_of("limit"))
        preset.limits.emplace_back(limit->text_of("text"));
    for (const Element* event : root.children_of("event")) preset.events.push_back(*event);
    return preset;
}

// Also if the programs were installed under another prefix, or are in a build tree.
fs::path shipped_folder() {
    std::error_code ignored;
    const fs::path programs = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    const fs::path beside = (programs / "../share/lagtrap/presets").lexically_normal();
    return fs::is_directory(beside, ignored) ? beside : LAGTRAP_PRESET_DIR;
}

}  // namespace

std::vector<fs::path> preset_folders() {
    const char* const given = std::getenv("LAGTRAP_PRESETS");
    if (!given) return {own_folder, shipped_folder()};
    std::vector<fs::path> folders;
    for (std::string_view rest = given; !rest.empty();) {
        const std::string_view folder = rest.substr(0, rest.find(':'));
        if (!folder.empty()) folders.emplace_back(folder);
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    }
    return folders;
}

std::vector<std::string> preset_names() {
    std::set<std::string> names;
    for (const fs::path& folder : preset_folders()) {
        const auto files = list_folder(folder, presets_limit);
        if (!files) continue;
        for (const std::string& file : *files)
            if (file.ends_with(extension) && file.size() > extension.size())
                names.insert(file.substr(0, file.size() - extension.size()));
    }
    return {names.begin(), names.end()};
}

Result<fs::path> find_preset(std::string_view name) {
    std::string searched;
    for (const fs::path& folder : preset_folders()) {
        const fs::path file = folder / (std::string(name) + std::string(extension));
        std::error_code ignored;
        if (fs::exists(file, ignored)) return file;
        searched += (searched.empty() ? "" : " and ") + folder.string();
    }
    return make_error(ErrorKind::NotFound,
                      fmt::format("there is no preset {} in {}", in_quotes(name), searched));
}

std::string ask_about_preset(std::string_view name) {
    return name.size() > 100 ? std::string() : did_you_mean(nearest_name(name, preset_names()));
}

PresetOutcome load_preset(const fs::path& file) {
    PresetOutcome outcome;
    auto text = read_settings_file(file, "a preset");
    if (auto* problem = std::get_if<Diagnostic>(&text)) {
        outcome.diagnostics.push_back(std::move(*problem));
        return outcome;
    }
    outcome.text = std::move(std::get<std::string>(text));
    Diagnostics diagnostics;
    const LineIndex index(without_byte_order_mark(outcome.text));
    const auto root = read_document(index, diagnostics, preset_element());
    if (root) {
        check_event_names(*root, diagnostics);
        MachineSources ignored;
        for (const Element* event : root->children_of("event"))
            static_cast<void>(build_event(*event, ignored, diagnostics));
    }
    outcome.diagnostics = diagnostics.take();
    if (root && outcome.diagnostics.empty()) outcome.preset = preset_of(*root, file);
    return outcome;
}

std::vector<std::string> installed_programs(const std::vector<std::string>& patterns) {
    std::vector<std::string> found;
    std::set<fs::path> seen;
    for (const std::string& pattern : patterns) {
        if (!pattern.starts_with('/')) continue;
        glob_t matches{};
        const std::string place = on_machine(pattern).string();
        const std::size_t prefix_bytes = place.size() - pattern.size();
        if (::glob(place.c_str(), GLOB_NOSORT, nullptr, &matches) == 0) {
            for (std::size_t i = 0; i < matches.gl_pathc && found.size() < installed_limit; ++i) {
                const std::string path = matches.gl_pathv[i] + prefix_bytes;
                const fs::path whole = real_path_on_machine(path);
                const auto facts = facts_on_machine(path);
                if (facts && S_ISREG(facts->st_mode) && seen.insert(whole).second)
                    found.push_back(path);
            }
        }
        ::globfree(&matches);
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace lagtrap::settings
