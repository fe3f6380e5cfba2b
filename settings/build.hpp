// Builds Settings from the elements of a settings file, and checks the rules that involve several
// values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/settings.hpp"

namespace lagtrap::settings {

// A marker that the machine check looks for, and the places in the file to report if it is missing.
struct MarkerSource {
    Marker marker;
    std::optional<ArgumentRef> begin_time, trace_id;
    Place name_place;
    Place binary_place;
    Place key_place;
    Place begin_time_place;
    Place trace_id_place;
    bool each_call = false;            // from <function>: entry and return are both watched
    std::optional<Place> calls_place;  // the place of its <calls>, if it has one
};

// The name of a user or group that must exist.
struct AccountSource {
    std::string name;
    Place place;
};

// A file, and the place in the settings that names it.
struct FileSource {
    std::string path;
    Place place;
};

// The markers of a <use>, and what its preset says about the programs that have them.
struct PresetSource {
    std::string preset;
    std::string tried_with;
    std::vector<std::string> programs;  // paths; may contain * and ?
    Place place;                        // of <use>
    std::vector<MarkerSource> markers;
};

// What the settings name and only the machine can confirm.
struct MachineSources {
    std::vector<MarkerSource> markers;  // of events written in the settings file itself
    std::vector<PresetSource> presets;
    std::vector<AccountSource> unknown_users;  // users that this machine does not have
    std::vector<AccountSource> groups;
    std::vector<FileSource> scopes;  // programs of <scope>; they must exist
    std::optional<FileSource> spool;
    std::optional<FileSource> socket;
};

struct Built {
    Settings settings;
    MachineSources sources;
};

// The user id of nobody. Scope::uid holds it if the machine does not know the user, so that the
// event watches nobody rather than everybody.
inline constexpr std::uint32_t unknown_uid = 0xffffffff;

// Builds as much as it can. If it adds errors to `diagnostics`, do not use the settings. `sources`
// holds only markers without errors.
[[nodiscard]] Built build_settings(const Element& root, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
