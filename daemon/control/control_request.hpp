// Parses requests at the control socket (JSON).
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

// `line` is one line, with or without its newline: an object, at most 8 levels deep.
// ErrorKind::Invalid for anything else.
[[nodiscard]] Result<boost::json::object> parse_control_request(std::string_view line);

}  // namespace lagtrap::daemon
