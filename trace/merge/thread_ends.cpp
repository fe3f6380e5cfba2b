#include "trace/merge/thread_ends.hpp"

#include <algorithm>

namespace lagtrap::trace {

void ThreadEnds::cut_off(lagtrap_run& run) const {
    const bool of_thread =
        run.key == 0 && (run.flags & (LAGTRAP_RUN_OF_GOROUTINE | LAGTRAP_RUN_IN_GO)) == 0;
    if ((run.flags & LAGTRAP_RUN_OPEN) == 0 || !of_thread) return;
    const auto known = ends_ns_.find(run.begin_tid);
    if (known == ends_ns_.end()) return;
    std::uint64_t end_ns = run.end_ns;
    for (const std::uint64_t at_ns : known->second)
        if (at_ns >= run.begin_hit_ns) end_ns = std::min(end_ns, at_ns);
    if (end_ns == run.end_ns) return;
    run.end_ns = end_ns;
    run.flags |= LAGTRAP_RUN_ABANDONED;
}

}  // namespace lagtrap::trace
