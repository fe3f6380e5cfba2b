// Where a thread was seen over a period, and what these places have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/call_tree.hpp"
#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// A sample, or the stack at which a thread stopped.
struct ThreadSighting {
    std::uint64_t at_ns = 0;
    StackId stack = 0;
};

// In time order.
[[nodiscard]] std::vector<ThreadSighting> sightings_of(const Recording& recording,
                                                       const Thread& thread, Window window);

[[nodiscard]] inline FunctionKey key_of(const Frame& frame) { return {frame.label, frame.module}; }

// Program functions that all of the stacks begin with, outermost first. Stacks without functions
// are ignored.
[[nodiscard]] std::vector<FunctionKey> common_path(const Recording& recording,
                                                   const std::vector<ThreadSighting>& sightings);

// Functions the thread is in whenever it is seen outside the window, such as its main loop. Empty
// if it was not seen then.
[[nodiscard]] std::vector<FunctionKey> callers_outside(const Recording& recording,
                                                       std::uint32_t tid, Window window);

// Outermost function the thread was in throughout the window and not otherwise. Empty if that has
// no name, or if the thread was not seen outside the window.
[[nodiscard]] std::string operation_of(const Recording& recording, const Thread& thread,
                                       Window window);

}  // namespace lagtrap::analysis
