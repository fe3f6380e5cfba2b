// Words for sleeps. For analysis/ only.
#pragma once

#include <string>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// "slept 100 ms in 50 sleeps of about 2.00 ms", where `time` is "100 ms".
[[nodiscard]] std::string slept_words(const ThreadDoing& doing, const std::string& time);

// ", each time until its timer expired", to end a sentence about sleeps that nothing else ended.
[[nodiscard]] std::string expired_words(const ThreadDoing& doing);

// It sleeps between attempts to get a lock on a file, whose holder is known.
[[nodiscard]] bool retries(const ThreadDoing& doing);

// ", trying again each time", of sleeps until a lock is free.
[[nodiscard]] std::string retry_words(const ThreadDoing& doing);

}  // namespace lagtrap::analysis
