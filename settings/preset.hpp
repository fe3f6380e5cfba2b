// Presets: ready-made events for known programs, in files presets/NAME.xml. Settings use them by
// <use preset="NAME"/>.
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
    std::string name;  // file name without .xml
    std::filesystem::path file;
    std::string about;
    std::string tried_with;
    bool may_have_scope = true;
    std::vector<std::string> programs;  // paths; may contain * and ?
    std::vector<std::string> limits;    // what the preset does not see
    std::vector<Element> events;        // <event> elements, in the order of the file
};

struct PresetOutcome {
    std::optional<Preset> preset;  // set if there are no diagnostics
    std::string text;              // the file's text
    std::vector<Diagnostic> diagnostics;
};

// The folders searched for presets: the administrator's, then the one shipped with the program,
// ../share/lagtrap/presets. LAGTRAP_PRESETS replaces them by a list separated by colons.
[[nodiscard]] std::vector<std::filesystem::path> preset_folders();

// The names of all presets, sorted.
[[nodiscard]] std::vector<std::string> preset_names();

// The preset's file, from the first folder that has it. ErrorKind::NotFound if no folder has it.
[[nodiscard]] Result<std::filesystem::path> find_preset(std::string_view name);

// Suggests a preset for an unknown name: "did you mean nginx?". Empty if none is similar.
[[nodiscard]] std::string ask_about_preset(std::string_view name);

// Reads and checks a preset's file, without checking the machine.
[[nodiscard]] PresetOutcome load_preset(const std::filesystem::path& file);

// The machine's files that match the programs' paths, sorted; one of several links to the same
// file. At most 64.
[[nodiscard]] std::vector<std::string> installed_programs(const std::vector<std::string>& patterns);

}  // namespace lagtrap::settings
