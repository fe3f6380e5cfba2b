// JSON output of `lagtrap why -- COMMAND`.
#pragma once

#include <boost/json/object.hpp>

#include "cli/why/life_text.hpp"

namespace lagtrap::cli {

[[nodiscard]] boost::json::object life_json(const analysis::Recording& recording,
                                            const analysis::CommandLife& life,
                                            const LifeFacts& facts);

}  // namespace lagtrap::cli
