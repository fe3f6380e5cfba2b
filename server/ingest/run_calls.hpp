// The calls of a delay's run, for its page.
#pragma once

#include <boost/json/value.hpp>

#include "analysis/recording.hpp"

namespace lagtrap::server {

inline constexpr std::size_t run_calls_limit = 100;

// The longest calls and their callers: a list, callers first, with `depth`. null if calls were not
// recorded.
[[nodiscard]] boost::json::value run_calls_json(const analysis::Recording& recording,
                                                const trace::Delay& delay);

}  // namespace lagtrap::server
