#include "analysis/call_focus.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analysis/frame_role.hpp"
#include "analysis/parts.hpp"
#include "analysis/plumbing.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t part_limit = 2;

bool is_header(std::string_view source) {
    const std::string_view file = source.substr(source.rfind('/') + 1);
    const std::size_t dot = file.rfind('.');
    return !file.empty() && (dot == std::string_view::npos || file.substr(dot).starts_with(".h"));
}

bool is_worth_a_part(std::uint64_t part_ns, std::uint64_t whole_ns) {
    return part_ns * 6 >= whole_ns;
}

// The name that accounts for most of the time; empty if none does.
std::string prevailing(const std::map<std::string, std::uint64_t>& times, std::uint64_t whole_ns) {
    for (const auto& [name, time_ns] : times)
        if (is_most(time_ns, whole_ns)) return name;
    return {};
}

class FocusFinder {
  public:
    FocusFinder(const CallTree& tree, std::span<const FunctionKey> callers)
        : tree_(tree), nodes_(tree.nodes()), whole_ns_(tree.total_ns()), callers_(callers) {}

    CallFocus find() {
        const std::size_t at = innermost_by_path();
        if (at != 0 && is_worked_in(at)) return focus_of({{at}, false});
        if (const auto spot = innermost_by_name(at)) return focus_of(*spot);
        if (at != 0 && !is_caller(at)) return focus_of({{at}, false});
        CallFocus focus;
        focus.parts = spread_over(at);
        return focus;
    }

  private:
    // A function or library, whatever its callers. None of its nodes is below another one.
    struct Spot {
        std::vector<std::size_t> nodes;
        bool library = false;
    };
    struct Candidate {
        Spot spot;
        std::uint64_t time_ns = 0;
        double depth_weight = 0;
        [[nodiscard]] double depth() const { return depth_weight / static_cast<double>(time_ns); }
    };

    [[nodiscard]] const Frame& frame(std::size_t node) const {
        return tree_.recording().frames[nodes_[node].frame];
    }
    [[nodiscard]] const std::string& name(NameId id) const { return tree_.recording().name(id); }
    [[nodiscard]] std::uint64_t time_of(std::size_t node) const {
        return nodes_[node].times.total_ns();
    }
    [[nodiscard]] FunctionKey key(std::size_t node) const {
        return {frame(node).label, frame(node).module};
    }

    [[nodiscard]] std::size_t innermost_by_path() const {
        std::size_t at = 0;
        for (;;) {
            const auto children = tree_.children_of(at);
            if (children.empty() || !is_most(time_of(children.front()), whole_ns_)) return at;
            at = children.front();
        }
    }

    [[nodiscard]] bool is_worked_in(std::size_t node) const {
        return nodes_[node].own.total_ns() * 2 >= time_of(node);
    }

    [[nodiscard]] bool is_caller(std::size_t node) const {
        return std::find(callers_.begin(), callers_.end(), key(node)) != callers_.end();
    }

    // Many paths may lead to one function or library. Finds the innermost below `at` that has most
    // of the time.
    [[nodiscard]] std::optional<Spot> innermost_by_name(std::size_t at) const {
        std::map<FunctionKey, Candidate> functions;
        std::map<NameId, Candidate> libraries;
        std::vector<bool> below(nodes_.size());
        std::vector<double> depths(nodes_.size());
        const auto add = [&](Candidate& candidate, std::size_t node) {
            candidate.spot.nodes.push_back(node);
            candidate.time_ns += time_of(node);
            candidate.depth_weight += depths[node] * static_cast<double>(time_of(node));
        };
        // Parents precede their nodes.
        for (std::size_t node = 1; node < nodes_.size(); ++node) {
            depths[node] = depths[nodes_[node].parent] + 1;
            below[node] = nodes_[node].parent == at || below[nodes_[node].parent];
            if (!below[node] || frame(node).kernel || is_caller(node)) continue;
            if (frame(node).named) add(functions[key(node)], node);
            if (is_way_into_library(node, at)) add(libraries[frame(node).module], node);
        }
        const Candidate* found = deepest_of(functions);
        Candidate* library = deepest_of(libraries);
        if (library != nullptr && says_more(*library, found, at)) {
            library->spot.library = true;
            found = library;
        }
        return found != nullptr ? std::optional(found->spot) : std::nullopt;
    }

    // The innermost of the candidates that have most of the time.
    template <typename Key>
    [[nodiscard]] Candidate* deepest_of(std::map<Key, Candidate>& candidates) const {
        Candidate* found = nullptr;
        for (auto& [key, candidate] : candidates) {
            if (!is_most(candidate.time_ns, whole_ns_)) continue;
            if (found == nullptr || candidate.depth() > found->depth()) found = &candidate;
        }
        return found;
    }

    // A function that does much besides calling the library is more informative than the library.
    [[nodiscard]] bool says_more(const Candidate& library, const Candidate* function,
                                 std::size_t at) const {
        if (function != nullptr)
            return library.depth() > function->depth() &&
                   is_nearly(library.time_ns, function->time_ns);
        return at == 0 || is_caller(at) || is_nearly(library.time_ns, time_of(at));
    }

    [[nodiscard]] bool is_way_into_library(std::size_t node, std::size_t at) const {
        const NameId module = frame(node).module;
        const std::string& path = name(module);
        if (path.find(".so") == std::string::npos || is_language_runtime(path)) return false;
        if (at != 0 && frame(at).module == module) return false;
        for (std::size_t above = nodes_[node].parent; above != 0; above = nodes_[above].parent)
            if (frame(above).module == module) return false;
        return true;
    }

    [[nodiscard]] CallFocus focus_of(const Spot& spot) const {
        CallNode sum;
        sum.frame = nodes_[spot.nodes.front()].frame;
        for (const std::size_t node : spot.nodes) sum.add(nodes_[node]);
        CallFocus focus;
        focus.time_ns = sum.times.total_ns();
        focus.library = spot.library;
        const CallLine line = tree_.line_of(sum);
        if (spot.library)
            focus.place.module = line.place.module;
        else
            focus.place = line.place;
        if (!is_most(line.called_ns, focus.time_ns))
            focus.place.called.clear(), focus.place.called_module.clear();
        find_callers(spot, focus);
        if (spot.library)
            focus.parts = parts_of(spot.nodes);
        else if (line.own_ns * 2 < focus.time_ns)
            focus.parts = parts_of(children_of(spot.nodes));
        return focus;
    }

    void find_callers(const Spot& spot, CallFocus& focus) const {
        std::map<std::string, std::uint64_t> direct, of_another_module, modules;
        const bool of_header = !spot.library && is_header(focus.place.source);
        for (const std::size_t node : spot.nodes) {
            direct[direct_caller(node)] += time_of(node);
            const std::size_t caller = caller_elsewhere(node, of_header);
            of_another_module[caller == 0 ? "" : name(frame(caller).label)] += time_of(node);
            const bool elsewhere = caller != 0 && frame(caller).module != frame(node).module;
            modules[elsewhere ? name(frame(caller).module) : ""] += time_of(node);
        }
        focus.direct_caller = prevailing(direct, focus.time_ns);
        focus.direct_caller_ns = time_of_caller(spot, focus.direct_caller);
        focus.caller = prevailing(of_another_module, focus.time_ns);
        focus.caller_module = prevailing(modules, focus.time_ns);
    }

    [[nodiscard]] std::string direct_caller(std::size_t node) const {
        const std::size_t parent = nodes_[node].parent;
        if (parent == 0) return {};
        const Frame& caller = frame(parent);
        return caller.named && !caller.kernel && !is_thread_start(name(caller.label))
                   ? name(caller.label)
                   : "";
    }

    [[nodiscard]] std::uint64_t time_of_caller(const Spot& spot, const std::string& caller) const {
        if (caller.empty()) return 0;
        std::set<std::size_t> parents;
        for (const std::size_t node : spot.nodes)
            if (direct_caller(node) == caller && !is_caller(nodes_[node].parent))
                parents.insert(nodes_[node].parent);
        std::uint64_t time_ns = 0;
        for (const std::size_t parent : parents) time_ns += time_of(parent);
        return time_ns;
    }

    // A function from a header means little without the function it was inlined into.
    [[nodiscard]] std::size_t caller_elsewhere(std::size_t node, bool of_header) const {
        for (std::size_t caller = nodes_[node].parent; caller != 0;
             caller = nodes_[caller].parent) {
            const Frame& above = frame(caller);
            const bool elsewhere = above.module != frame(node).module;
            if (elsewhere || (of_header && above.named && !is_header(name(above.source))))
                return caller;
        }
        return 0;
    }

    [[nodiscard]] std::vector<std::size_t> children_of(
        const std::vector<std::size_t>& nodes) const {
        std::vector<std::size_t> children;
        for (const std::size_t node : nodes)
            for (const std::size_t child : tree_.children_of(node)) children.push_back(child);
        return children;
    }

    // Each function once; omits those with too little of the total.
    [[nodiscard]] std::vector<CallLine> parts_of(const std::vector<std::size_t>& nodes) const {
        std::map<FunctionKey, CallNode> merged;
        for (const std::size_t node : nodes) {
            CallNode& sum = merged[key(node)];
            sum.frame = nodes_[node].frame;
            sum.add(nodes_[node]);
        }
        std::vector<CallLine> lines;
        for (const auto& [function, sum] : merged)
            if (is_worth_a_part(sum.times.total_ns(), whole_ns_))
                lines.push_back(tree_.line_of(sum));
        std::stable_sort(lines.begin(), lines.end(), [](const CallLine& a, const CallLine& b) {
            return a.total_ns() > b.total_ns();
        });
        if (lines.size() > part_limit) lines.resize(part_limit);
        return lines;
    }

    // For time that no single place has: the functions with most own time, or otherwise those with
    // most time below them.
    [[nodiscard]] std::vector<CallLine> spread_over(std::size_t at) const {
        std::vector<CallLine> lines = tree_.innermost(part_limit);
        std::erase_if(
            lines, [&](const CallLine& line) { return !is_worth_a_part(line.own_ns, whole_ns_); });
        if (lines.empty()) lines = parts_of(tree_.children_of(at));
        return lines.empty() ? tree_.innermost(part_limit) : lines;
    }

    const CallTree& tree_;
    const std::vector<CallNode>& nodes_;
    std::uint64_t whole_ns_;
    std::span<const FunctionKey> callers_;
};

}  // namespace

CallFocus find_focus(const CallTree& tree, std::span<const FunctionKey> callers) {
    return FocusFinder(tree, callers).find();
}

}  // namespace lagtrap::analysis
