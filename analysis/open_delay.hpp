// Explains why a recording does not contain the end of a delay.
#pragma once

#include <string>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// One sentence: why the end is missing, and which trace length would include it. Empty if the delay
// has ended or nothing is known.
[[nodiscard]] std::string open_delay_note(const Recording& recording, const trace::Delay& delay);

}  // namespace lagtrap::analysis
