// A trace of objects as text, for people.
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
    std::uint64_t marked_ns = 0;  // calls that took as long stand out; 0: none do
};

// What is watched, and what is not.
[[nodiscard]] std::string objects_started_text(const calls::ObjectsStarted& started, const CallsLook& look);
// A tree, a line for each call: time and memory first.
[[nodiscard]] std::string object_tree_text(const calls::ObjectNode& root, const calls::ObjectsStarted& started,
                                           const ObjectsLook& look);
// Failures first, then classes, functions, the calls that took longest, and what still lives. Of a summary that has ended.
[[nodiscard]] std::string objects_summary_text(const calls::ObjectsSummary& summary, std::size_t top,
                                               const ObjectsLook& look);
// The same, and how it ended and what was lost.
[[nodiscard]] std::string objects_ended_text(const calls::ObjectsSummary& summary, std::size_t top,
                                             const ObjectsLook& look);
[[nodiscard]] std::string objects_taken_out_text(const std::vector<calls::TakenOut>& taken_out,
                                                 const calls::ObjectsStarted& started, const CallsLook& look);

}  // namespace lagtrap::cli
