// What "status" says about thresholds that follow from an event's runs.
#pragma once

#include <boost/json/value.hpp>

#include "daemon/thresholds/threshold_keeper.hpp"

namespace lagtrap::daemon {

// Of the event with this number; null if its threshold is fixed, or before the first look.
[[nodiscard]] boost::json::value threshold_report(const ThresholdKeeper& keeper,
                                                  std::uint32_t event, std::uint64_t now_ns);

}  // namespace lagtrap::daemon
