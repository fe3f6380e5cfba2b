// The function that explains most of the time of a call tree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/call_tree.hpp"

namespace lagtrap::analysis {

// Where most of the time went: the innermost function or library that contains most of it, and what
// that called.
struct CallFocus {
    CallPlace place;
    // only the file is known to have most of it: several of its functions, called from elsewhere
    bool library = false;
    // Nearest caller in another module. If the place is in a header, the nearest caller in a source
    // file that is not one.
    std::string caller;
    std::string caller_module;  // path of the calling file, if it is another
    // program function that called it; empty if unnamed, or if a thread begins there
    std::string direct_caller;
    std::uint64_t direct_caller_ns = 0;  // in it and what it calls; 0 for one of `callers`
    std::uint64_t time_ns = 0;           // in `place` and what it calls; 0 if no function is known
    // Where the time below went, if in several functions: at most 2, longest first. Without a
    // place, they are parts of the whole.
    std::vector<CallLine> parts;

    [[nodiscard]] bool has_place() const { return library || !place.function.empty(); }
};

// `callers` are functions the thread is in at other times too, such as its main loop. They are an
// answer only for time in their own code.
[[nodiscard]] CallFocus find_focus(const CallTree& tree, std::span<const FunctionKey> callers = {});

}  // namespace lagtrap::analysis
