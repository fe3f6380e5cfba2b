// The part of the vocabulary that describes events: <event> and what it contains.
#pragma once

#include "settings/schema.hpp"

namespace lagtrap::settings {

extern const ElementSpec event_element;
extern const ElementSpec scope_element;

}  // namespace lagtrap::settings
