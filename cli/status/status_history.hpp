// What `lagtrap status` says of recordings that begin before a breach.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"

namespace lagtrap::cli {

// Empty where the settings want none.
[[nodiscard]] std::string history_lines(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
