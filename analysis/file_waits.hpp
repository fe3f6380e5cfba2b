// Which file and disk the waits of a thread were for, and who had a lock on it; or which socket, and who is at its other end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_kind.hpp"

namespace lagtrap::analysis {

struct FileWaits {
    std::string path;                           // for which most of the waits' time was; empty: for none, or not known
    WaitFileKind kind = WaitFileKind::Unknown;  // of `path`
    bool syn_repeated = false;                  // to it, in one of these waits
    std::string disk;                           // on which it is, or which ended most of the waits; empty: not known
    std::uint64_t time_ns = 0;                  // of the waits for `path`
    std::uint64_t asked_ns = 0;  // of all waits of which a file could be known: not those before the recording
    std::uint32_t files = 0;     // of all known ones
    std::uint32_t queue_depth =
        0;  // requests that the disk had when these waits began: the mean, weighed by their length
    std::uint32_t holder_pid = 0;   // who had a lock on it for most of the time; 0: nobody, or not known
    std::string holder;             // name of that process
    std::uint32_t owner_pid = 0;    // who is at the other end of the socket, or listens there; 0: not known
    std::string owner;              // name of that process
    std::uint32_t more_owners = 0;  // of that name
    bool listener_full = false;     // it had no room for another connection
};

[[nodiscard]] bool is_socket(WaitFileKind kind);

// Of waits of one kind. A lock that was refused counts where the kind has no file of its own, as a sleep.
[[nodiscard]] FileWaits file_waits_of(const Recording& recording, const std::vector<Interval>& waits, WaitKind kind);

}  // namespace lagtrap::analysis
