// Expands <use> into the events of its preset.
#pragma once

#include <vector>

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/preset.hpp"

namespace lagtrap::settings {

struct UsedPreset {
    Preset preset;
    std::vector<Element> events;  // as if written in the settings; all places are that of the <use>
};

// Loads the preset that `use` (a <use>) names and applies its overrides. nullopt if there is no
// such preset or it has errors; then `diagnostics` has them at the place of the <use>.
[[nodiscard]] std::optional<UsedPreset> use_preset(const Element& use, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
