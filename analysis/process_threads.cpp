#include "analysis/process_threads.hpp"

namespace lagtrap::analysis {

bool has_ended(const Thread& thread) {
    return !thread.changes.empty() && thread.changes.back().state == ThreadState::Exited;
}

std::uint32_t only_thread_of(const Recording& recording, std::uint32_t pid) {
    std::uint32_t found = 0;
    for (const Thread& thread : recording.threads) {
        if (thread.pid != pid || has_ended(thread)) continue;
        if (found != 0) return 0;
        found = thread.tid;
    }
    return found;
}

}  // namespace lagtrap::analysis
