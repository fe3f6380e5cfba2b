#include <algorithm>
#include <map>

#include "calls/function_stream.hpp"

namespace lagtrap::calls {
namespace {

// Makes a tree for each outermost call of one thread. `calls` are ordered by begin, callers first.
void add_trees(const std::vector<TracedCall>& calls, std::vector<Tree>& trees) {
    std::vector<std::uint32_t> open;  // calls of the current tree
    std::vector<std::uint64_t> ends;  // of the open calls
    for (const TracedCall& traced : calls) {
        while (!open.empty() && traced.end_ns > ends.back()) {
            open.pop_back();
            ends.pop_back();
        }
        if (open.empty()) {
            Tree& fresh = trees.emplace_back();
            fresh.tid = traced.tid;
            fresh.thread = traced.thread;
            fresh.began_monotonic_ns = traced.begin_ns;
        }
        Tree& tree = trees.back();
        Call call;
        call.function = traced.function;
        call.parent = open.empty() ? no_parent : open.back();
        call.begin_ns = traced.begin_ns - tree.began_monotonic_ns;
        call.end_ns = traced.end_ns - tree.began_monotonic_ns;
        call.left_out_cost_ns = std::min(traced.probes_ns, call.end_ns - call.begin_ns);
        call.on_cpu_ns =
            call.end_ns - call.begin_ns - std::min(traced.off_cpu_ns, call.end_ns - call.begin_ns);
        call.end = traced.left ? CallEnd::Left : CallEnd::Returned;
        open.push_back(static_cast<std::uint32_t>(tree.calls.size()));
        ends.push_back(traced.end_ns);
        tree.calls.push_back(call);
    }
}

}  // namespace

std::vector<Tree> trees_of(std::vector<TracedCall> calls) {
    std::map<std::uint32_t, std::vector<TracedCall>> by_thread;
    for (TracedCall& call : calls) by_thread[call.tid].push_back(std::move(call));
    std::vector<Tree> trees;
    for (auto& [tid, own] : by_thread) {
        std::stable_sort(own.begin(), own.end(),
                         [](const TracedCall& one, const TracedCall& other) {
                             return one.begin_ns != other.begin_ns ? one.begin_ns < other.begin_ns
                                                                   : one.end_ns > other.end_ns;
                         });
        add_trees(own, trees);
    }
    return trees;
}

std::vector<Times> times_of(const Tree& tree) {
    std::vector<Times> times(tree.calls.size());
    std::vector<std::uint64_t> children_ns(tree.calls.size());
    for (std::size_t number = tree.calls.size(); number-- > 0;) {
        const Call& call = tree.calls[number];
        Times& time = times[number];
        time.blocked_ns = call.end_ns - call.begin_ns - call.on_cpu_ns;
        time.on_cpu_ns = call.on_cpu_ns - std::min(call.on_cpu_ns, call.left_out_cost_ns);
        time.wall_ns = time.on_cpu_ns + time.blocked_ns;
        if (time.wall_ns < children_ns[number]) {
            time.on_cpu_ns += children_ns[number] - time.wall_ns;
            time.wall_ns = children_ns[number];
        }
        time.own_ns = time.wall_ns - children_ns[number];
        if (call.parent != no_parent) children_ns[call.parent] += time.wall_ns;
    }
    return times;
}

}  // namespace lagtrap::calls
