// The program's log: one line an event on standard error, with the priorities that the journal reads where it
// is connected (sd-daemon(3)), with the time where it is not.
#pragma once

namespace lagtrap {

// For main functions: libraries do not log. Sets spdlog's default logger. Call once, before the first line.
void start_program_log();

}  // namespace lagtrap
