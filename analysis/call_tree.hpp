// Time by calls of the program's own functions, as a tree that is small enough to be read: what plumbing did counts for
// the function that called it, and functions that have a single caller stand in one line with it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/program_path.hpp"
#include "analysis/recording.hpp"
#include "analysis/stack_times.hpp"

namespace lagtrap::analysis {

// The place in a program that explains a piece of time.
struct CallPlace {
    std::string function;  // or "[FILE]" where no name is known; empty: nothing is known
    std::string module;    // path of its file
    std::string source;    // path of the source file where most of the time went; empty: not known
    std::uint32_t line = 0;
    // The function of the C library or of another runtime that it had called for most of that time; else empty.
    std::string called;
    std::string called_module;
};

// One line of the tree.
struct CallLine {
    std::vector<std::string> functions;  // each called by the one before it alone; never empty
    CallPlace place;                     // of the last
    std::uint32_t depth = 0;             // lines above it that it belongs to
    std::uint64_t on_cpu_ns = 0;         // with all that it calls
    std::uint64_t blocked_ns = 0;
    std::uint64_t waiting_ns = 0;   // for a CPU
    std::uint64_t own_ns = 0;       // of all three: in the last function itself and in plumbing that it called
    std::uint64_t called_ns = 0;    // of that: in place.called
    std::uint64_t nameless_ns = 0;  // of own_ns: in code of its file that has no name
    std::string reason;             // the longest reason of blocked time; empty where there is none

    [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + blocked_ns + waiting_ns; }
};

// Where most of some time went: the innermost function or library below which most of it lies, and what it called.
struct CallFocus {
    CallPlace place;
    bool library =
        false;  // of `place` the file alone is known to have it: several of its functions, called from elsewhere
    // The nearest function of another module that led there; where a header has the place, of a source that is none.
    std::string caller;
    std::string caller_module;  // path of the file from which it was called, where that is another
    std::string
        direct_caller;  // the function of a program that called it; empty: a thread begins there, or it has no name
    std::uint64_t time_ns = 0;  // in `place` and what it calls; 0: no function is known
    // Where the time lies below, if in several functions: at most 2, longest first. Without a place these are of the whole.
    std::vector<CallLine> parts;

    [[nodiscard]] bool has_place() const { return library || !place.function.empty(); }
};

// A function in a file, as Frame has them.
using FunctionKey = std::pair<NameId, NameId>;

class CallTree {
  public:
    explicit CallTree(const Recording& recording) : recording_(recording) { nodes_.emplace_back(); }

    void add(StackId stack, const StackTimes::Times& times);
    void add(const StackTimes& times);
    [[nodiscard]] std::uint64_t total_ns() const { return nodes_.front().times.total_ns(); }

    // Callers before what they call, the longest first. Lines shorter than `least_ns` are left out; the first `limit`
    // by time stay.
    [[nodiscard]] std::vector<CallLine> lines(std::uint64_t least_ns, std::size_t limit) const;
    // By own_ns, longest first, each function once wherever it was called from; `functions` has it alone.
    [[nodiscard]] std::vector<CallLine> innermost(std::size_t limit) const;
    // `callers`: functions in which the thread is at other times too, as its main loop; they are an answer only for what they
    // compute themselves.
    [[nodiscard]] CallFocus focus(std::span<const FunctionKey> callers = {}) const;

  private:
    class FocusFinder;
    struct Node {
        std::size_t parent = 0;
        std::uint32_t frame = 0;
        StackTimes::Times times;
        StackTimes::Times own;
        std::uint64_t nameless_ns = 0;
        std::map<std::uint32_t, std::uint64_t> places;              // frames of this function, by time
        std::map<NameId, std::pair<std::uint64_t, NameId>> called;  // by label: time and module
        std::map<std::string, std::uint64_t> reasons;
        std::map<std::pair<NameId, NameId>, std::size_t> children;  // by label and module
        void take(const Node& other);
    };

    [[nodiscard]] std::vector<std::size_t> children_of(std::size_t node) const;
    [[nodiscard]] CallPlace place_of(const Node& node) const;
    [[nodiscard]] CallLine line_of(const Node& node) const;
    void add_lines(std::size_t node, std::uint32_t depth, std::uint64_t least_ns, std::vector<CallLine>& lines) const;

    const Recording& recording_;
    std::vector<Node> nodes_;  // 0: the root, of no function
};

}  // namespace lagtrap::analysis
