// The program's log on standard error, one line per message: with priorities if the journal reads
// it (sd-daemon(3)), otherwise with the time.
#pragma once

namespace lagtrap {

// Sets spdlog's default logger. Call once in main(), before the first message. Libraries do not
// log.
void start_program_log();

}  // namespace lagtrap
