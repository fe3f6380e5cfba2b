// What comes in at the control socket, as JSON.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

// One line, without or with its end: an object, at most 8 levels deep. ErrorKind::Invalid for anything else.
[[nodiscard]] Result<boost::json::object> parse_control_request(std::string_view line);

}  // namespace lagtrap::daemon
