// Formats an object trace as text, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calls/object_stream.hpp"
#include "calls/object_summary.hpp"
#include "cli/calls/calls_text.hpp"

namespace lagtrap::cli {

struct ObjectsLook {
    CallsLook look;
    std::uint64_t marked_ns = 0;        // highlight calls at least this long; 0 for none
    const char* more_option = "--top";  // of the command, shows more rows
};

// What is watched, and what is not.
[[nodiscard]] std::string objects_started_text(const calls::ObjectsStarted& started,
                                               const CallsLook& look);
// A tree, one line per call, starting with time and memory.
[[nodiscard]] std::string object_tree_text(const calls::ObjectNode& root,
                                           const calls::ObjectsStarted& started,
                                           const ObjectsLook& look);
// Failures, then classes, functions, the longest calls, and live objects. The summary must have
// ended.
[[nodiscard]] std::string objects_summary_text(const calls::ObjectsSummary& summary,
                                               std::size_t top, const ObjectsLook& look);
// objects_summary_text(), how the trace ended, and what was lost.
[[nodiscard]] std::string objects_ended_text(const calls::ObjectsSummary& summary, std::size_t top,
                                             const ObjectsLook& look);
[[nodiscard]] std::string objects_detached_text(
    const std::vector<calls::DetachedFunction>& detached, const calls::ObjectsStarted& started,
    const CallsLook& look);

}  // namespace lagtrap::cli
