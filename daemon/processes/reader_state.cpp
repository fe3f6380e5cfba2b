#include "daemon/processes/reader_state.hpp"

#include "binaries/reader/file_reader.hpp"

namespace lagtrap::daemon {

void restart_failed_reader() {
    auto* const reader = binaries::file_reader();
    if (reader != nullptr && !reader->counts().start_problem.empty()) (void)reader->try_start();
}

bool can_read_programs() {
    auto* const reader = binaries::file_reader();
    return reader == nullptr || reader->try_start().ok();
}

}  // namespace lagtrap::daemon
