// Which files an event names, and which of them processes map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// A file that processes map.
struct CopyStatus {
    std::string path;   // as the process sees it
    std::string where;  // unit or container; empty if neither
    std::uint32_t pid = 0;
    std::uint64_t processes = 0;
    std::string problem;  // why it is not watched; empty if it is
};

// The files of one event.
struct EventCopies {
    std::uint64_t files = 0;                                 // files with markers of the event
    std::uint64_t processes = 0;                             // processes that map one of them
    std::uint32_t pid = 0;                                   // one of these processes
    std::set<std::uint32_t> pids;                            // all of them
    std::map<std::string, std::uint64_t> processes_by_unit;  // see count_by_unit()
    // why there is no search for copies; empty if there is one
    std::string problem;
    // paths in its settings that do not exist on this machine
    std::vector<std::string> absent;
    // files not watched because a limit is reached
    std::uint64_t left_out = 0;
    // other than the file that the settings name; up to shown_limit
    std::vector<CopyStatus> copies;
    // another file of that name, if no process has a watched one
    std::optional<CopyStatus> namesake;
    static constexpr std::size_t shown_limit = 16;
};

// The files that an event's markers name, in their order; one that several name occurs several
// times.
[[nodiscard]] std::vector<std::string> names_of(const settings::Event& event);

// Whether the last component of a path is that of one of the names.
[[nodiscard]] bool is_named_like(std::string_view path, const std::vector<std::string>& names);

}  // namespace lagtrap::daemon
