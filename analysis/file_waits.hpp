// Finds which file and disk a thread's waits were for and who had a lock on the file, or which
// socket and its peer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_kind.hpp"

namespace lagtrap::analysis {

struct FileWaits {
    // the file with most of the waiting time; empty if there is none or it is unknown
    std::string path;
    WaitFileKind kind = WaitFileKind::Unknown;  // of `path`
    bool syn_repeated = false;                  // a SYN to it was repeated, in one of these waits
    // the disk it is on, or the one that ended most of the waits; empty if unknown
    std::string disk;
    std::uint64_t time_ns = 0;  // of waits for `path`
    // Of all waits whose file could be known, which excludes those before the recording.
    std::uint64_t asked_ns = 0;
    std::uint32_t files = 0;  // number of known files
    // Mean number of requests in the disk's queue when these waits began, weighted by their length.
    std::uint32_t queue_depth = 0;
    std::uint32_t holder_pid = 0;  // had a lock on it for most of the time; 0 if none or unknown
    std::string holder;            // name of that process
    // has the other end of the socket or pipe, or listens there; 0 if unknown
    std::uint32_t owner_pid = 0;
    std::string owner;              // name of that process
    std::uint32_t more_owners = 0;  // other processes with that name
    bool listener_full = false;     // its accept queue was full
};

[[nodiscard]] bool is_socket(WaitFileKind kind);
// A socket or a pipe.
[[nodiscard]] bool has_other_end(WaitFileKind kind);

// For waits of one kind. A refused lock counts for kinds without a file of their own, such as
// sleep.
[[nodiscard]] FileWaits file_waits_of(const Recording& recording,
                                      const std::vector<Interval>& waits, WaitKind kind);

}  // namespace lagtrap::analysis
