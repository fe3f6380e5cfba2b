// Time by calls of the program's own functions, as a tree small enough to read. Time in runtime and
// library plumbing counts for the function that called it, and a function with a single caller
// shares that caller's line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/program_path.hpp"
#include "analysis/recording.hpp"
#include "analysis/stack_times.hpp"

namespace lagtrap::analysis {

// The place in a program that explains some time.
struct CallPlace {
    std::string function;  // or "[FILE]" if the name is unknown; empty if nothing is known
    std::string module;    // path of its file
    std::string source;    // path of the source file where most of the time went; empty if unknown
    std::uint32_t line = 0;
    // Function of the C library or another runtime that it was calling for most of that time;
    // otherwise empty.
    std::string called;
    std::string called_module;
};

// One line of the tree.
struct CallLine {
    std::vector<std::string> functions;  // each called only by the one before it; never empty
    CallPlace place;                     // of the last function
    std::uint32_t depth = 0;             // number of lines above that contain this one
    std::uint64_t on_cpu_ns = 0;         // including everything it calls
    std::uint64_t blocked_ns = 0;
    std::uint64_t waiting_ns = 0;  // for a CPU
    // sum of all three, in the last function itself and in plumbing it called
    std::uint64_t own_ns = 0;
    std::uint64_t called_ns = 0;    // part of own_ns: in place.called
    std::uint64_t nameless_ns = 0;  // part of own_ns: in unnamed code of its file
    std::string reason;             // longest reason of the blocked time; empty if there is none
    std::uint64_t reason_ns = 0;    // part of blocked_ns: for this reason

    [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + blocked_ns + waiting_ns; }
};

// A function and its file, as in Frame.
using FunctionKey = std::pair<NameId, NameId>;

// A function under its callers, with the time of all its calls there.
struct CallNode {
    std::size_t parent = 0;
    std::uint32_t frame = 0;
    StackTimes::Times times;
    StackTimes::Times own;
    std::uint64_t nameless_ns = 0;
    // frames of this function, with their time
    std::map<std::uint32_t, std::uint64_t> places;
    std::map<NameId, std::pair<std::uint64_t, NameId>> called;  // by label: time and module
    std::map<std::string, std::uint64_t> reasons;               // of blocked time
    std::map<std::string, std::uint64_t> own_reasons;           // of that in `own`
    std::map<std::pair<NameId, NameId>, std::size_t> children;  // by label and module

    void add(const CallNode& other);
};

class CallTree {
  public:
    explicit CallTree(const Recording& recording) : recording_(recording) { nodes_.emplace_back(); }

    void add(StackId stack, const StackTimes::Times& times);
    void add(const StackTimes& times);
    [[nodiscard]] std::uint64_t total_ns() const { return nodes_.front().times.total_ns(); }

    // Callers before callees, longest first. Leaves out lines shorter than `min_ns`, and keeps
    // the `limit` longest.
    [[nodiscard]] std::vector<CallLine> lines(std::uint64_t min_ns, std::size_t limit) const;
    // By own_ns, longest first, each function once whatever its callers; `functions` has only that
    // function.
    [[nodiscard]] std::vector<CallLine> innermost(std::size_t limit) const;
    // The root, which has no function, is the first. Parents precede their children.
    [[nodiscard]] const std::vector<CallNode>& nodes() const { return nodes_; }
    // The numbers of the nodes below it, longest first.
    [[nodiscard]] std::vector<std::size_t> children_of(std::size_t node) const;
    [[nodiscard]] CallLine line_of(const CallNode& node) const;
    [[nodiscard]] const Recording& recording() const { return recording_; }

  private:
    [[nodiscard]] CallPlace place_of(const CallNode& node) const;
    void add_lines(std::size_t node, std::uint32_t depth, std::uint64_t min_ns,
                   std::vector<CallLine>& lines) const;

    const Recording& recording_;
    std::vector<CallNode> nodes_;
};

}  // namespace lagtrap::analysis
