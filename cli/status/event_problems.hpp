// What `lagtrap status` says about the problems of an event.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

// "/usr/bin/app (process 12 of container web)", of a copy of a watched file in the daemon's answer.
[[nodiscard]] std::string place_of(const boost::json::object& copy);
// `event` is an event of the daemon's answer. One line each, for people.
[[nodiscard]] std::vector<std::string> event_problems(const boost::json::object& event);

}  // namespace lagtrap::cli
