#include "calls/call_tree.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace lagtrap::calls {

namespace {

std::uint64_t scaled(std::uint64_t cost_ns, double scale) {
    return static_cast<std::uint64_t>(static_cast<double>(cost_ns) * scale);
}

}  // namespace

const char* name_of(CallEnd end) {
    switch (end) {
        case CallEnd::Returned: return "returned";
        case CallEnd::TailCall: return "tail call";
        case CallEnd::Left: return "left";
        case CallEnd::ThreadEnd: return "thread ended";
    }
    return "";
}

std::optional<CallEnd> call_end_named(std::string_view name) {
    for (const CallEnd end :
         {CallEnd::Returned, CallEnd::TailCall, CallEnd::Left, CallEnd::ThreadEnd})
        if (name == name_of(end)) return end;
    return std::nullopt;
}

Status check(const Tree& tree, std::size_t functions) {
    const auto wrong = [](std::size_t number, const char* what) {
        return make_error(ErrorKind::Invalid, fmt::format("call {} of a tree {}", number, what));
    };
    if (tree.calls.empty() || tree.calls.size() > max_nodes)
        return make_error(ErrorKind::Invalid, fmt::format("a tree of {} calls; 1 to {} are allowed",
                                                          tree.calls.size(), max_nodes));
    for (std::size_t number = 0; number < tree.calls.size(); ++number) {
        const Call& call = tree.calls[number];
        if (call.function >= functions) return wrong(number, "has an unknown function number");
        if ((number == 0) != (call.parent == no_parent))
            return wrong(number, "has no parent, or should have none");
        if (number != 0 && call.parent >= number) return wrong(number, "comes before its caller");
        if (call.end_ns < call.begin_ns) return wrong(number, "ends before it begins");
        const std::uint64_t wall_ns = call.end_ns - call.begin_ns;
        if (call.on_cpu_ns > wall_ns || call.runnable_ns > wall_ns - call.on_cpu_ns)
            return wrong(number, "has parts that are longer than the whole");
    }
    return success();
}

std::vector<Times> net_times(const Tree& tree, const std::vector<Function>& functions) {
    std::vector<Times> times(tree.calls.size());
    std::vector<std::uint64_t> below_ns(tree.calls.size());     // overhead of the probes below
    std::vector<std::uint64_t> children_ns(tree.calls.size());  // without overhead
    // Callers come first, so going backwards everything below a call is known.
    for (std::size_t number = tree.calls.size(); number-- > 0;) {
        const Call& call = tree.calls[number];
        const ProbeCost& cost = functions[call.function].cost;
        Times& time = times[number];
        const std::uint64_t all_below_ns =
            below_ns[number] + scaled(call.left_out_cost_ns, tree.probe_scale);
        const std::uint64_t probes_ns = scaled(cost.inside_ns, tree.probe_scale) + all_below_ns;
        time.on_cpu_ns = call.on_cpu_ns - std::min(call.on_cpu_ns, probes_ns);
        time.runnable_ns = call.runnable_ns;
        time.blocked_ns = call.end_ns - call.begin_ns - call.on_cpu_ns - call.runnable_ns;
        time.wall_ns = time.on_cpu_ns + time.runnable_ns + time.blocked_ns;
        // Overhead varies; a call never gets less time than its callees have.
        if (time.wall_ns < children_ns[number]) {
            time.on_cpu_ns += children_ns[number] - time.wall_ns;
            time.wall_ns = children_ns[number];
        }
        time.own_ns = time.wall_ns - children_ns[number];
        if (call.parent == no_parent) continue;
        below_ns[call.parent] +=
            all_below_ns + scaled(cost.inside_ns + cost.around_ns, tree.probe_scale);
        children_ns[call.parent] += time.wall_ns;
    }
    return times;
}

}  // namespace lagtrap::calls
