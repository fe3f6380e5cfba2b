// Where a thread was seen over some time, and what all of these places have in common.
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

// By time.
[[nodiscard]] std::vector<ThreadSighting> sightings_of(const Recording& recording, const Thread& thread, Window window);

[[nodiscard]] inline FunctionKey key_of(const Frame& frame) { return {frame.label, frame.module}; }

// The program's functions with which each of the stacks begins, outermost first. Stacks without a function do not count.
[[nodiscard]] std::vector<FunctionKey> common_path(const Recording& recording,
                                                   const std::vector<ThreadSighting>& sightings);

// Those in which the thread is at any other time: what led to its work, as its main loop. Empty where it was not seen then.
[[nodiscard]] std::vector<FunctionKey> callers_outside(const Recording& recording, std::uint32_t tid, Window window);

// The outermost function in which the thread was all over the window and is not otherwise; empty: there is none with a name, or it
// was not seen otherwise.
[[nodiscard]] std::string operation_of(const Recording& recording, const Thread& thread, Window window);

}  // namespace lagtrap::analysis
