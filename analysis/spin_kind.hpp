// Recognizes busy waiting by the functions of a stack.
#pragma once

#include <string_view>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// What a thread on a CPU with this stack was spinning on. One stack does not show whether it went
// around a loop: mark_spinning() looks for several.
[[nodiscard]] SpinKind spin_of_stack(const Recording& recording, StackId stack);

// "calling sched_yield over and over", to follow the place.
[[nodiscard]] std::string_view to_text(SpinKind kind);

}  // namespace lagtrap::analysis
