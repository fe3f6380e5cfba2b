// Finds the process at the other end of a socket, and the thread that failed to accept a
// connection. For analysis/ only.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct SocketOwners {
    std::vector<std::uint32_t> pids;  // without duplicates, ascending
    bool full = false;                // they listen, and their accept queue was full
};

// Processes that have the other end of `socket` or, if the connection was not accepted yet, that
// listen there.
[[nodiscard]] SocketOwners owners_of(const Recording& recording, const WaitedFile& socket);

// As owners_of() the socket or pipe that `wait` is for, but without the process that waits, unless
// it is the only one: programs often leave the ends of their children open.
[[nodiscard]] SocketOwners other_end_of(const Recording& recording, const Interval& wait);

// True if a SYN of this wait's connection was sent again during the wait.
[[nodiscard]] bool is_syn_repeated_in(const Recording& recording, const Interval& wait);

// Makes waits for a listener with a full accept queue count as waits for the thread that should
// have accepted: among the threads of its processes, the one that accepts connections, or otherwise
// the one that was busiest during the wait.
void blame_full_listeners(const Recording& recording, std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
