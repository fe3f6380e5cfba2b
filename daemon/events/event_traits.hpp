// How an event's runs are tracked, derived from its settings.
#pragma once

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// True if the event is a function call from entry to return. Then a run lives no longer than its
// stack frame.
[[nodiscard]] bool pairs_calls(const settings::Event& event);

// True if such calls can be told apart by their frames alone: no marker lies within the call, and
// nested calls are runs too.
[[nodiscard]] bool pairs_frames(const settings::Event& event);

// True if one thread of a program hits both begin and end, so that its stack pointers can be
// compared.
[[nodiscard]] bool keeps_stack_order(const settings::Event& event);

// True if the event's runs are waits for a CPU.
[[nodiscard]] bool waits_for_cpu(const settings::Event& event);

// True if the time of the runs' threads is measured, split by what they did.
[[nodiscard]] bool counts_times(const settings::Event& event);

// True if values that markers carry are the keys; and if these have the same meaning in all
// processes.
[[nodiscard]] bool keyed_by_argument(const settings::Event& event);
[[nodiscard]] bool keyed_for_machine(const settings::Event& event);

}  // namespace lagtrap::daemon
