// Inserts elements into the text of a settings file and leaves everything else, comments too,
// unchanged.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::settings {

// Returns `text` with `elements` (complete lines) added at the end of <lagtrap>. ErrorKind::Invalid
// if the text has errors before or after the change; the message is that of `lagtrap check`, with
// `name` as the file's name. Does not check the machine.
[[nodiscard]] Result<std::string> with_elements(std::string_view text, std::string_view elements,
                                                const std::string& name);

}  // namespace lagtrap::settings
