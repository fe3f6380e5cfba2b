// From the elements of a settings file to Settings: the rules that concern more than one value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/settings.hpp"

namespace lagtrap::settings {

// A marker to look for on this machine, and the places to point at where it is not as the settings say.
struct MarkerSource {
    Marker marker;
    std::optional<ArgumentRef> begin_time, trace_id;
    Place name_place;
    Place binary_place;
    Place key_place;
    Place begin_time_place;
    Place trace_id_place;
    bool each_call = false;            // of <function>: both ends of its calls are watched
    std::optional<Place> calls_place;  // the same, with <calls>
};

// A name of a user or group that is to exist.
struct AccountSource {
    std::string name;
    Place place;
};

// A file, and the place that names it.
struct FileSource {
    std::string path;
    Place place;
};

// Markers of a <use>, and what its preset says of the programs that have them.
struct PresetSource {
    std::string preset;
    std::string tried_with;
    std::vector<std::string> programs;  // paths, perhaps with * and ?
    Place place;                        // of <use>
    std::vector<MarkerSource> markers;
};

// What the settings name that only the machine can confirm.
struct MachineSources {
    std::vector<MarkerSource> markers;  // of events that stand in the settings themselves
    std::vector<PresetSource> presets;
    std::vector<AccountSource> unknown_users;  // names that no user of this machine has
    std::vector<AccountSource> groups;
    std::vector<FileSource> scopes;  // programs of <scope>, which are to exist
    std::optional<FileSource> spool;
    std::optional<FileSource> socket;
};

struct Built {
    Settings settings;
    MachineSources sources;
};

// Nobody's user id: what Scope::uid holds where the machine does not know the user, so that the event then
// watches nobody rather than everybody.
inline constexpr std::uint32_t unknown_uid = 0xffffffff;

// Builds what it can; whatever contradicts itself is in `diagnostics`, and the result is then not to be used.
// `sources` holds only markers that have no errors.
[[nodiscard]] Built build_settings(const Element& root, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
