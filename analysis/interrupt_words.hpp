// Words for what ends a wait, other than a thread that held something.
#pragma once

#include <string_view>

#include "analysis/interruptions.hpp"
#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// "a timer", "a packet from the network".
[[nodiscard]] std::string_view to_text(WakeCause interrupt);

// "killed it", "resumed it".
[[nodiscard]] std::string_view to_text(Interruption interruption);

}  // namespace lagtrap::analysis
