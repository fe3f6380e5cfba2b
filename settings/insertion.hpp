// Adds elements to the text of a settings file; all else stays as it is, comments too.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::settings {

// `text` with `elements` (lines with their line ends) as the last ones in <lagtrap>. ErrorKind::Invalid: the text has errors
// before that or would have some with it; the message is what `lagtrap check` says, with `name` as the file's name.
// Looks at the text alone, not at the machine.
[[nodiscard]] Result<std::string> with_elements(std::string_view text, std::string_view elements,
                                                const std::string& name);

}  // namespace lagtrap::settings
