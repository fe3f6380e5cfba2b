// Tells threads that wait for their next work from those that wait in the middle of work, such as a
// request that waits for a connection of a pool. Both wait for a signal, events or a timer. For
// analysis/ only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/call_tree.hpp"
#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// The place of a thread's longest waits of one kind.
struct WaitPlace {
    std::vector<FunctionKey> path;  // functions of the program, outermost first; without those of
                                    // runtimes and dispatchers
    // it waits for whichever of many files has an event, as event loops do
    bool of_many = false;
    // it waits for what it has asked others for: a result, room in a channel
    bool for_others = false;
    friend bool operator==(const WaitPlace&, const WaitPlace&) = default;
};

[[nodiscard]] WaitPlace wait_place_of(const Recording& recording,
                                      std::span<const Interval> intervals);

// How likely a thread that waits there is in the middle of work. `others` are the places where the
// threads of its process wait.
enum class InWork : std::uint8_t {
    No,
    Perhaps,  // deep in the program
    Likely,   // it acquires something, or others wait for work in the function that has called it
};
[[nodiscard]] InWork is_in_work(const Recording& recording, const WaitPlace& place,
                                std::span<const WaitPlace> others);

}  // namespace lagtrap::analysis
