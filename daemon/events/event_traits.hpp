// What follows from an event's settings for how its runs are followed.
#pragma once

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Whether the event is a function from its entry to its return: then a run lives no longer than its stack frame.
[[nodiscard]] bool pairs_calls(const settings::Event& event);

// Whether such calls can be told apart by their frames alone: none of its markers lies inside the call, and calls inside of
// others are runs too.
[[nodiscard]] bool pairs_frames(const settings::Event& event);

// Whether begin and end are reached by one thread in a program, so that its stack pointer at both can be compared.
[[nodiscard]] bool keeps_stack_order(const settings::Event& event);

// Whether the time of the threads of the event's runs is counted, by what they did.
[[nodiscard]] bool counts_times(const settings::Event& event);

// Whether values that markers carry are its keys; and whether they mean the same in all processes.
[[nodiscard]] bool keyed_by_argument(const settings::Event& event);
[[nodiscard]] bool keyed_for_machine(const settings::Event& event);

}  // namespace lagtrap::daemon
