// Which process is at the other end of a socket, and what kept a listener from taking a connection. Used inside analysis/ alone.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct SocketOwners {
    std::vector<std::uint32_t> pids;  // each once, in order
    bool full = false;                // they listen, and had no room for another connection
};

// Of the other end of what was waited for; of a connection that is not answered yet: who listens there.
[[nodiscard]] SocketOwners owners_of(const Recording& recording, const WaitedFile& socket);

// Whether a SYN of this wait's connection was sent again during it.
[[nodiscard]] bool is_syn_repeated_in(const Recording& recording, const Interval& wait);

// Has waits for a listener without room count as waits for the thread of it that should have accepted: the one that accepts, of
// those of its processes, or else the one that was busiest meanwhile.
void blame_full_listeners(const Recording& recording, std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
