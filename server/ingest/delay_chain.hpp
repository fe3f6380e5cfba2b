// The threads that waited for each other in a delay, as JSON written by the parsing process.
#pragma once

#include <boost/json.hpp>

#include "analysis/delay_cause.hpp"
#include "analysis/recording.hpp"

namespace lagtrap::server {

// "WaitChain" of openapi.yaml, for the longest cause with other threads; empty if there is none.
[[nodiscard]] boost::json::array delay_chain_json(const analysis::Recording& recording,
                                                  const trace::Delay& delay,
                                                  const analysis::DelayCauses& causes);

}  // namespace lagtrap::server
