// The part of `lagtrap status` about recordings that begin before a breach.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"

namespace lagtrap::cli {

// Empty if the settings request none.
[[nodiscard]] std::string history_lines(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
