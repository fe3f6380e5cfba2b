// <functions> and <object>: what an event traces after a breach.
#pragma once

#include <string>

#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/settings.hpp"

namespace lagtrap::settings {

// The event in the words of diagnostics.
[[nodiscard]] std::string text_of(const Event& event);

// Each adds what its element describes to the event, or a diagnostic. The event's begin and scope
// must be known.
void build_functions(const Element& functions, Event& event, Diagnostics& diagnostics);
void build_object(const Element& object, Event& event, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
