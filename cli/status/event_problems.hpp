// What `lagtrap status` says about the problems of an event.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

// `event` is an event of the daemon's answer. One line each, for people.
[[nodiscard]] std::vector<std::string> event_problems(const boost::json::object& event);

}  // namespace lagtrap::cli
