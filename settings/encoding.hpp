// Checks that a text is UTF-8 with only characters that XML allows.
#pragma once

#include "settings/diagnostics.hpp"
#include "settings/place.hpp"

namespace lagtrap::settings {

// False, with one diagnostic, for UTF-16 or UTF-32, an encoding declaration other than UTF-8, NUL
// bytes, other characters that XML forbids, and invalid UTF-8. Only the first problem is reported,
// because the rest would be guesswork.
[[nodiscard]] bool check_encoding(const LineIndex& index, Diagnostics& diagnostics);

// Whether XML 1.0 allows this character, literally or as a reference.
[[nodiscard]] bool is_xml_character(std::uint32_t code);

}  // namespace lagtrap::settings
