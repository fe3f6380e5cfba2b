// From <use> to the events of its preset.
#pragma once

#include <vector>

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/preset.hpp"

namespace lagtrap::settings {

struct UsedPreset {
    Preset preset;
    std::vector<Element> events;  // as the settings could have them; all their places are those of <use>
};

// The preset that `use` (a <use>) names, with what it says otherwise. Nothing where there is none or it has errors, which are
// then in `diagnostics`, at the <use>.
[[nodiscard]] std::optional<UsedPreset> use_preset(const Element& use, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
