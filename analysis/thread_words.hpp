// Words for a thread in a sentence about a delay. For analysis/ only.
#pragma once

#include <string>

#include "analysis/thread_name.hpp"

namespace lagtrap::analysis {

// "lock-holder (501)", "lock-holder (501) of report (500)", "backup (700, backup.service)".
// Omits the process and the unit if they are those of `delayed`, the thread with the delay.
[[nodiscard]] std::string thread_words(const ThreadName& name, const ThreadName& delayed);

}  // namespace lagtrap::analysis
