// Session ids become parts of file names, so their spelling is checked wherever one is read.
#pragma once

#include <string_view>

namespace lagtrap::trace {

// Whether `text` is a UUID in its usual spelling: 36 characters, lower-case hexadecimal digits and four hyphens.
[[nodiscard]] bool is_session_id(std::string_view text);

}  // namespace lagtrap::trace
