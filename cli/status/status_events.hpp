// The events in `lagtrap status`: a table of their runs, their problems, and how often each marker
// was hit.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"

namespace lagtrap::cli {

[[nodiscard]] std::string event_lines(const boost::json::object& answer, const Paint& paint);

// "query", or "a client, process 812 of user joe (1001)", from the answer's "capture".
[[nodiscard]] std::string recorded_for(const boost::json::object& capture);

// Why an event is not watched all the time: "off", "disabled", "counted", "partly" or "arming";
// empty if it is.
[[nodiscard]] std::string trouble_of(const boost::json::object& event);

}  // namespace lagtrap::cli
