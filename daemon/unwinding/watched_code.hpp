// Finds the files that processes of watched programs will map: the programs and the libraries they
// need. This happens before such a process runs, so that the tables are ready when it does.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

// A file that is not mapped yet.
struct WatchedCode {
    NamedMapping mapping;  // of this process, without an address: only the path
    CodeFileIdentity identity;
    std::uint32_t owner = 0;
};

inline constexpr std::size_t max_watched_files = 512;

// Calls `take` once for each file, programs first; false ends the search. Opens files through
// `inspector` only, and parses them in the reader process. Skips files that do not answer in time.
// Does not find libraries that a program loads by itself at run time. Takes some milliseconds per
// file, or more if others delay it.
void find_watched_code(const std::set<std::string>& programs, ProcessInspector& inspector,
                       const std::function<bool(const WatchedCode&)>& take);

}  // namespace lagtrap::daemon
