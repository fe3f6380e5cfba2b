// The files that processes of watched programs will map: the programs, and the libraries that they need. Found before any
// such process runs, so that their tables are there when it does.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

// A file that is not mapped yet.
struct WatchedCode {
    NamedMapping mapping;  // of this process, at no address: by its path alone
    CodeFileIdentity identity;
    std::uint32_t owner = 0;
};

inline constexpr std::size_t most_watched_files = 512;

// Calls `take` for each file once, programs first; false ends the search. Opens files by `inspector` alone, and has them read by
// the process that reads files for this one: what does not answer in time is left out. What a program loads by itself while it
// runs is not found. Takes some milliseconds for each file, more where others hold it up.
void find_watched_code(const std::set<std::string>& programs, ProcessInspector& inspector,
                       const std::function<bool(const WatchedCode&)>& take);

}  // namespace lagtrap::daemon
