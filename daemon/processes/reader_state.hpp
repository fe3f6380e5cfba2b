// Whether lagtrap-reader can be used.
#pragma once

namespace lagtrap::daemon {

// Starts lagtrap-reader if it could not be started before, even with nothing to read, so that the
// status is current.
void restart_failed_reader();

// Starts lagtrap-reader if needed. True also if files are read without it.
[[nodiscard]] bool can_read_programs();

}  // namespace lagtrap::daemon
