// Presets: events of known programs, each in a file presets/NAME.xml, which settings use by <use preset="NAME"/>.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "settings/document.hpp"
#include "settings/parser.hpp"

namespace lagtrap::settings {

struct Preset {
    std::string name;  // the file's, without .xml
    std::filesystem::path file;
    std::string about;
    std::string tried_with;
    bool may_have_scope = true;
    std::vector<std::string> programs;  // paths, perhaps with * and ?
    std::vector<std::string> limits;    // what it does not see
    std::vector<Element> events;        // <event>, in the file's order
};

struct PresetOutcome {
    std::optional<Preset> preset;  // where there are no diagnostics
    std::string text;              // of the file
    std::vector<Diagnostic> diagnostics;
};

// Where presets are looked for: the administrator's folder, then the installed one. LAGTRAP_PRESETS holds others instead, with
// colons between.
[[nodiscard]] std::vector<std::filesystem::path> preset_folders();

// Names of all presets, sorted.
[[nodiscard]] std::vector<std::string> preset_names();

// The file of the preset in the first folder that has it. ErrorKind::NotFound: no folder has one.
[[nodiscard]] Result<std::filesystem::path> find_preset(std::string_view name);

// A question for whoever wrote a name that no preset has, "did you mean nginx?"; empty where none is near.
[[nodiscard]] std::string ask_about_preset(std::string_view name);

// Reads and checks a preset's file, without a look at the machine.
[[nodiscard]] PresetOutcome load_preset(const std::filesystem::path& file);

// Files of this machine that the programs' paths mean, sorted; of links to the same file one. At most 64.
[[nodiscard]] std::vector<std::string> installed_programs(const std::vector<std::string>& patterns);

}  // namespace lagtrap::settings
