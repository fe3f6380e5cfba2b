// Names the cause of a delay in a few words, so that the causes of many delays can be counted.
#pragma once

#include <string>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// "Waited for a lock held by report, which computed in merge_rows": the longest cause and the end
// of its chain, without times and process ids. Delays with the same cause have the same words.
[[nodiscard]] std::string short_cause(const DelayCauses& causes);

}  // namespace lagtrap::analysis
