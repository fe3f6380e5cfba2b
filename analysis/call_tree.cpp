#include "analysis/call_tree.hpp"

#include <algorithm>

#include "analysis/block_reason.hpp"
#include "analysis/frame_role.hpp"
#include "analysis/parts.hpp"

namespace lagtrap::analysis {

namespace {

void add_times(StackTimes::Times& sum, const StackTimes::Times& times) {
    sum.on_cpu_ns += times.on_cpu_ns;
    sum.blocked_ns += times.blocked_ns;
    sum.waiting_ns += times.waiting_ns;
}

template <typename Key>
Key longest(const std::map<Key, std::uint64_t>& times) {
    const auto most =
        std::max_element(times.begin(), times.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return most != times.end() ? most->first : Key{};
}

}  // namespace

void CallNode::add(const CallNode& other) {
    add_times(times, other.times);
    add_times(own, other.own);
    nameless_ns += other.nameless_ns;
    for (const auto& [place, time_ns] : other.places) places[place] += time_ns;
    for (const auto& [label, time] : other.called) {
        auto& known = called[label];
        known = {known.first + time.first, time.second};
    }
    for (const auto& [reason, time_ns] : other.reasons) reasons[reason] += time_ns;
    for (const auto& [reason, time_ns] : other.own_reasons) own_reasons[reason] += time_ns;
}

void CallTree::add(StackId stack, const StackTimes::Times& times) {
    if (times.total_ns() == 0) return;
    const ProgramPath path = program_path(recording_, stack);
    const std::string reason =
        times.blocked_ns > 0 ? reason_of_stack(recording_, stack) : std::string();
    std::size_t at = 0;
    add_times(nodes_[0].times, times);
    for (const std::uint32_t step : path.steps) {
        const Frame& frame = recording_.frames[step];
        const auto [child, added] =
            nodes_[at].children.try_emplace({frame.label, frame.module}, nodes_.size());
        const std::size_t next = child->second;
        if (added) {
            nodes_.emplace_back();
            nodes_.back().parent = at;
            nodes_.back().frame = step;
        }
        at = next;
        add_times(nodes_[at].times, times);
        nodes_[at].places[step] += times.total_ns();
        if (times.blocked_ns > 0) nodes_[at].reasons[reason] += times.blocked_ns;
    }
    CallNode& last = nodes_[at];
    add_times(last.own, times);
    if (times.blocked_ns > 0) last.own_reasons[reason] += times.blocked_ns;
    if (path.nameless) last.nameless_ns += times.total_ns();
    if (path.called) {
        const Frame& called = recording_.frames[*path.called];
        auto& known = last.called[called.label];
        const bool of_script = is_of_script(recording_, called);
        known = {known.first + times.total_ns(), of_script ? called.source : called.module};
    }
}

void CallTree::add(const StackTimes& times) {
    for (const auto& [stack, time] : times.by_stack()) add(stack, time);
}

std::vector<std::size_t> CallTree::children_of(std::size_t node) const {
    std::vector<std::size_t> children;
    for (const auto& [key, child] : nodes_[node].children) children.push_back(child);
    std::sort(children.begin(), children.end(), [this](std::size_t a, std::size_t b) {
        const auto time_a = nodes_[a].times.total_ns();
        const auto time_b = nodes_[b].times.total_ns();
        if (time_a != time_b) return time_a > time_b;
        return recording_.name(recording_.frames[nodes_[a].frame].label) <
               recording_.name(recording_.frames[nodes_[b].frame].label);
    });
    return children;
}

CallPlace CallTree::place_of(const CallNode& node) const {
    CallPlace place;
    const Frame& frame = recording_.frames[node.frame];
    place.function = recording_.name(frame.label);
    place.module = recording_.name(frame.module);
    std::map<std::pair<NameId, std::uint32_t>, std::uint64_t> lines;
    for (const auto& [known, time_ns] : node.places) {
        const Frame& at = recording_.frames[known];
        if (at.source != 0) lines[{at.source, at.line}] += time_ns;
    }
    const auto line = longest(lines);
    place.source = recording_.name(line.first);
    place.line = line.second;
    std::uint64_t called_ns = 0;
    for (const auto& [label, time] : node.called) {
        if (time.first <= called_ns) continue;
        called_ns = time.first;
        place.called = plain_function(recording_.name(label));
        place.called_module = recording_.name(time.second);
    }
    return place;
}

CallLine CallTree::line_of(const CallNode& node) const {
    CallLine line;
    line.place = place_of(node);
    line.on_cpu_ns = node.times.on_cpu_ns;
    line.blocked_ns = node.times.blocked_ns;
    line.waiting_ns = node.times.waiting_ns;
    line.own_ns = node.own.total_ns();
    line.nameless_ns = node.nameless_ns;
    for (const auto& [label, time] : node.called)
        line.called_ns = std::max(line.called_ns, time.first);
    line.reason = longest(node.reasons);
    if (!node.reasons.empty()) line.reason_ns = node.reasons.at(line.reason);
    line.functions.push_back(line.place.function);
    return line;
}

void CallTree::add_lines(std::size_t node, std::uint32_t depth, std::uint64_t min_ns,
                         std::vector<CallLine>& lines) const {
    for (std::size_t child : children_of(node)) {
        const std::uint64_t whole_ns = nodes_[child].times.total_ns();
        if (whole_ns < min_ns) break;
        std::vector<std::string> callers;
        for (;;) {
            const auto next = children_of(child);
            if (next.empty() || !is_nearly(nodes_[next.front()].times.total_ns(), whole_ns)) break;
            callers.push_back(recording_.name(recording_.frames[nodes_[child].frame].label));
            child = next.front();
        }
        CallLine line = line_of(nodes_[child]);
        line.depth = depth;
        line.functions.insert(line.functions.begin(), callers.begin(), callers.end());
        lines.push_back(std::move(line));
        add_lines(child, depth + 1, min_ns, lines);
    }
}

std::vector<CallLine> CallTree::lines(std::uint64_t min_ns, std::size_t limit) const {
    std::vector<CallLine> lines;
    add_lines(0, 0, std::max<std::uint64_t>(min_ns, 1), lines);
    if (lines.size() <= limit) return lines;
    // A caller has at least as much time as its callees and precedes them, so the longest lines
    // also form a tree.
    std::vector<std::size_t> order(lines.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return lines[a].total_ns() > lines[b].total_ns();
    });
    order.resize(limit);
    std::sort(order.begin(), order.end());
    std::vector<CallLine> kept;
    for (const std::size_t i : order) kept.push_back(std::move(lines[i]));
    return kept;
}

std::vector<CallLine> CallTree::innermost(std::size_t limit) const {
    std::map<std::pair<NameId, NameId>, CallNode> merged;
    for (const CallNode& node : nodes_) {
        if (&node == &nodes_.front() || node.own.total_ns() == 0) continue;
        const Frame& frame = recording_.frames[node.frame];
        CallNode own = node;
        own.times = node.own;
        own.reasons = node.own_reasons;
        CallNode& sum = merged[{frame.label, frame.module}];
        sum.frame = node.frame;
        sum.add(own);
    }
    std::vector<CallLine> lines;
    for (const auto& [key, node] : merged) lines.push_back(line_of(node));
    std::sort(lines.begin(), lines.end(), [](const CallLine& a, const CallLine& b) {
        return a.own_ns != b.own_ns ? a.own_ns > b.own_ns : a.place.function < b.place.function;
    });
    if (lines.size() > limit) lines.resize(limit);
    return lines;
}

}  // namespace lagtrap::analysis
