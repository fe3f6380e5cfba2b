// Session ids become parts of file names, so every id that is read is checked.
#pragma once

#include <string_view>

namespace lagtrap::trace {

// True if `text` is a UUID in its usual form: 36 characters, lower-case hexadecimal digits and four
// hyphens.
[[nodiscard]] bool is_session_id(std::string_view text);

}  // namespace lagtrap::trace
