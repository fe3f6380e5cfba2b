// Writes elements as text of a settings file.
#pragma once

#include <string>

#include "settings/document.hpp"

namespace lagtrap::settings {

// The element and its children, each on its own line, indented by `indent` spaces and wrapped at
// about 100 columns. Omits attributes that have their default.
[[nodiscard]] std::string element_text(const Element& element, std::size_t indent);

// Escapes text for use between double quotes.
[[nodiscard]] std::string attribute_text(std::string_view value);

}  // namespace lagtrap::settings
