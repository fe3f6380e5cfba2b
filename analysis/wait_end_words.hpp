// Words for who or what ended a wait, or should have. For analysis/ only.
#pragma once

#include <string>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// Clauses to append to a sentence about a wait, or empty. `delayed` is the thread with the delay.

// How a wait of `who_did` ended that is not followed to a thread: ", until it timed out", "; its
// holder is unknown".
[[nodiscard]] std::string end_clause(const ThreadDoing& doing, const ThreadName& who_did,
                                     const ThreadName& delayed);

// How one ended that is followed to the thread of `link`: ", which writer (501) held", ", until
// writer (501) released it".
[[nodiscard]] std::string waker_clause(const ThreadDoing& waited, const CauseLink& link,
                                       const ThreadName& delayed);

// True if the thread that resumed a stopped or frozen one had also stopped it.
[[nodiscard]] bool has_resumed_what_it_stopped(const ThreadDoing& doing);

}  // namespace lagtrap::analysis
