// Waits that a thread ended from outside: it sent a signal to whoever waited, or resumed them. It
// did not hold them up. For analysis/ only.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

enum class Interruption : std::uint8_t {
    None,
    Signal,
    Killed,
    Resumed,  // the wait was a stop by a signal
    Thawed,   // the wait was in a frozen control group
};

[[nodiscard]] Interruption interruption_of(const Recording& recording, const Interval& wait);

// The thread that stopped or froze another one, whose stop is `pause`; 0 if that one did not wait
// then, or if unknown.
[[nodiscard]] std::uint32_t stopper_of(const Recording& recording, const Interval& pause);

// A wait that a signal, a stop or a freeze interrupted, and that the thread then restarted at the
// same place, counts as ended by whatever ended its last part. The same holds for a wait that timed
// out.
void join_repeated_waits(const Recording& recording, std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
