// `lagtrap status` for people: the daemon's answer as text.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"

namespace lagtrap::cli {

// Formats the answer to {"command":"status"}; a missing field, or one of another type, counts as 0
// or empty.
[[nodiscard]] std::string status_text(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
