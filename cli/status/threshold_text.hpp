// Thresholds that follow from an event's runs, in words.
#pragma once

#include <string>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

// Whether the event's threshold is not known yet.
[[nodiscard]] bool learns_threshold(const boost::json::object& event);

// "50.0 ms", or "learning".
[[nodiscard]] std::string threshold_cell(const boost::json::object& event);

// The value and why it is what it is; empty for a fixed threshold.
[[nodiscard]] std::string threshold_sentence(const boost::json::object& event);

}  // namespace lagtrap::cli
