// Which requests delayed another one, from the causes of its delay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// What the other request had.
enum class HeldBy : std::uint8_t {
    Lock,
    InterpreterLock,
    DatabaseLock,
    FileLock,
    KernelLock,
    Cpu,
    BusyThread,  // a thread that was busy with an earlier request, such as one of a pool
};

// "lock", "interpreter-lock", "database-lock", "file-lock", "kernel-lock", "cpu", "busy-thread".
[[nodiscard]] std::string_view to_text(HeldBy how);

struct RequestEdge {
    RequestContext culprit;
    ThreadName who;  // culprit's thread
    HeldBy how = HeldBy::Lock;
    std::uint64_t lost_ns = 0;  // how long the delayed request waited for the culprit
    std::string place;          // what the culprit was in, as in sentences; empty if unknown
};

// Longest first; one for each culprit and `how`. Follows the chain of each cause that sentences
// tell to the last thread that was in another request. An edge needs a holder that the recording
// proves: nobody who only likely was waited for, who waited for a lock in turn, who shares the
// delayed request's trace id, or who may have worked for it. None for times that are no run.
[[nodiscard]] std::vector<RequestEdge> edges_of(const DelayCauses& causes);

}  // namespace lagtrap::analysis
