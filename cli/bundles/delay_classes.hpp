// Classifies an event's delays by what took most of their time, from the daemon's answer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

namespace lagtrap::cli {

// All classes in a fixed order, with their number of delays; 0 if the daemon does not report a
// class.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> delay_classes(
    const boost::json::object& event);

}  // namespace lagtrap::cli
