// The vocabulary in words, for error messages and for `lagtrap check --reference`.
#pragma once

#include <string>

#include "settings/schema.hpp"

namespace lagtrap::settings {

// For example "a duration from 1us to 1h" or "one of yes, no".
[[nodiscard]] std::string describe_values(const AttributeSpec& attribute);

// All elements and attributes with type, range, default and meaning, as plain text of at most 80
// columns.
[[nodiscard]] std::string settings_reference();

}  // namespace lagtrap::settings
