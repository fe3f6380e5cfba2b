// JSON output of `lagtrap why` for processes.
#pragma once

#include <boost/json/object.hpp>

#include "cli/why/why_text.hpp"

namespace lagtrap::cli {

[[nodiscard]] boost::json::object why_json(const analysis::Recording& recording,
                                           const WhyTarget& target, const WhyLook& look);

}  // namespace lagtrap::cli
