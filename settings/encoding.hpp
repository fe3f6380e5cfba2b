// Whether a text is the UTF-8 that XML allows.
#pragma once

#include "settings/diagnostics.hpp"
#include "settings/place.hpp"

namespace lagtrap::settings {

// False, with one diagnostic, for UTF-16 or UTF-32, an encoding declaration other than UTF-8, NUL bytes, other
// characters that XML forbids, and bytes that are not UTF-8; the first of them alone, because what follows it
// is guesswork.
[[nodiscard]] bool check_encoding(const LineIndex& index, Diagnostics& diagnostics);

// Whether XML 1.0 lets a document hold this character, written out or as a reference.
[[nodiscard]] bool is_xml_character(std::uint32_t code);

}  // namespace lagtrap::settings
