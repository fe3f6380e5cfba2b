// Elements as the text of a settings file.
#pragma once

#include <string>

#include "settings/document.hpp"

namespace lagtrap::settings {

// The element with its children, each on a line of its own, in lines of at most about 100 columns, indented by `indent` spaces.
// Attributes that have their default are left out.
[[nodiscard]] std::string element_text(const Element& element, std::size_t indent);

// Text as it stands between double quotes.
[[nodiscard]] std::string attribute_text(std::string_view value);

}  // namespace lagtrap::settings
