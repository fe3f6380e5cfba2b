// What is to be said of a delay whose end the recording does not have.
#pragma once

#include <string>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// One sentence: why the end is missing, and which trace length would show it; empty where the delay has ended, or where
// nothing is known.
[[nodiscard]] std::string open_delay_note(const Recording& recording, const trace::Delay& delay);

}  // namespace lagtrap::analysis
