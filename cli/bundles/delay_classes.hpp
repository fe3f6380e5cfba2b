// What took most of the time of an event's delays, of the daemon's answer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

namespace lagtrap::cli {

// All classes in a fixed order, with their number of delays; those that no daemon tells count as 0.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> delay_classes(const boost::json::object& event);

}  // namespace lagtrap::cli
