// JSON output of `lagtrap why` for a process.
#pragma once

#include <boost/json/object.hpp>

#include "cli/why/why_text.hpp"

namespace lagtrap::cli {

[[nodiscard]] boost::json::object why_json(const analysis::Recording& recording, std::uint32_t pid,
                                           const WhyLook& look);

}  // namespace lagtrap::cli
