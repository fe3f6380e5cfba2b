// `lagtrap metrics`: the daemon's answer in Prometheus' text format (exposition format 0.0.4), for
// node_exporter's textfile collector or a script. The daemon itself has no network.
#pragma once

#include <string>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

// Formats the answer to {"command":"status"}; a missing field, or one of another type, counts as 0
// or empty. Durations are in seconds. A run is counted in the first histogram bucket that certainly
// contains it; bounds are powers of two nanoseconds, from 1.024 us to 68.7 s. The sum of durations
// uses the middle of the daemon's own bucket for each run (four per power of two), so it is at most
// 12.5 % off.
[[nodiscard]] std::string metrics_text(const boost::json::object& answer);

}  // namespace lagtrap::cli
