// The parts of `lagtrap status` about limits that keep one user from taking what others need.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"

namespace lagtrap::cli {

// All are whole lines, or empty if nobody reached such a limit.

// Users whose delays start no recordings, so that other users get some too.
[[nodiscard]] std::string share_lines(const boost::json::object& answer, const Paint& paint);

// Users whose processes were limited to their share, to protect other users.
[[nodiscard]] std::string limited_lines(const boost::json::object& answer, const Paint& paint);

// Files with markers whose owners, or others, caused or could cause problems.
[[nodiscard]] std::string watched_file_lines(const boost::json::object& answer, const Paint& paint);

// Users whose processes take long to inspect.
[[nodiscard]] std::string limited_look_lines(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
