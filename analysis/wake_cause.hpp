// Describes in words what ended a wait.
#pragma once

#include <string>
#include <string_view>

#include "analysis/delay_report.hpp"
#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// One word: "thread", "timeout", "timer", "packet", "disk", "device", "interrupt", "unknown".
[[nodiscard]] std::string_view name_of(WakeCause cause);

// For waits that no thread ended, a phrase without the reason: "1 wait of 4.00 s timed out", "the
// disk vda ended 12 waits". Device names are printable, as in the recording.
[[nodiscard]] std::string to_text(const WakerReport& waker);

}  // namespace lagtrap::analysis
