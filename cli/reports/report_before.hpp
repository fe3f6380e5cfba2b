// The part of a report about what the machine did in the seconds before a delay.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "analysis/machine_before.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

// Empty if nothing is known. With `all`, small items are included. No line is longer than
// `columns`.
[[nodiscard]] std::string before_part(const analysis::Recording& recording,
                                      const trace::Delay& delay, const Paint& paint, bool all,
                                      std::size_t columns);
// null if nothing is known.
[[nodiscard]] boost::json::value before_json(const analysis::Recording& recording,
                                             const trace::Delay& delay);

}  // namespace lagtrap::cli
