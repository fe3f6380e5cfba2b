#include "server/reports/cause_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "server/reports/quantiles.hpp"

namespace lagtrap::server::reports {

namespace {

// minimum part of all extra time for a frame to be examined
constexpr double min_share = 0.02;
// minimum part of all extra time for the rest of a caller to be blamed
constexpr double rest_share = 0.05;
// minimum part of its caller's extra time to blame a frame instead of it
constexpr double kept_share = 0.8;
constexpr double plain_share = 0.98;  // as above, without examining each run
// minimum part of a run's extra time for a frame to count in the run
constexpr double part_of_run = 0.1;
// minimum shared part of the smaller one's extra time for two frames to group
constexpr double together_share = 0.5;
// share of delayed runs' time divided by share of normal runs' time
constexpr double min_lift = 1.2;
// minimum lift to blame a part of a caller that grew as everything did
constexpr double part_lift = 1.5;
// minimum growth of a child that grew apart, relative to its caller's rest
constexpr double part_growth = 1.5;
constexpr double part_share = 0.1;  // minimum part of its caller's extra time for the same
// minimum rest of a caller in its usual time; below it, all of it grew
constexpr double usual_rest = 0.1;
constexpr double place_share = 0.01;  // minimum part of all time for a node to count as a place
// part of its parent's time above which a node is not a separate place
constexpr double same_as_parent = 0.99;
constexpr std::size_t max_children = 64;
constexpr std::size_t max_suspects = 64;

// Nodes with the same name below the nodes of one caller.
struct Group {
    std::vector<std::uint32_t> nodes;
    std::uint32_t name = 0;
    double excess = 0;   // weighted
    double delayed = 0;  // time of delayed runs, weighted
    bool by_share = false;
};

// The extra time of one child of a group, by delayed run: index of the run, and its extra time.
struct Child {
    Group group;
    std::map<std::uint32_t, double> runs;
    double sum = 0;
    std::shared_ptr<const Excess> time;  // until the child is followed
};

class Search {
  public:
    Search(const CauseTree& tree, const RunWeights& weights) : tree_(tree), weights_(weights) {}

    SearchResult run() {
        measure();
        result_.suspect_of_node.assign(tree_.nodes().size(), no_suspect);
        result_.total_excess = excess_[0];
        if (excess_[0] > 0) follow({{0}, 0, excess_[0], 0, false});
        spread();
        return std::move(result_);
    }

  private:
    void measure();
    void follow(Group group);
    [[nodiscard]] std::vector<Group> children_of(const Group& group) const;
    std::vector<Child> look_at(const Group& group, std::vector<Group> groups);
    [[nodiscard]] static std::vector<std::vector<std::size_t>> part(
        const std::vector<Child>& children);
    [[nodiscard]] std::vector<std::size_t> grown_apart(
        const std::vector<Child>& children, const std::vector<std::size_t>& members) const;
    [[nodiscard]] double kept_by(const Child& child) const;
    [[nodiscard]] double lift_of(const Group& group) const;
    [[nodiscard]] std::uint32_t caller_of(std::uint32_t node) const;
    void blame(const Group& group, const std::vector<std::uint32_t>& nodes, double excess);
    void spread();
    // One cause may lie on many paths, so a small part of the total can be a large part of its
    // caller.
    [[nodiscard]] double least_of(const Group& group) const {
        return std::min(min_share * result_.total_excess, part_share * group.excess);
    }
    [[nodiscard]] bool has_frame(const Group& group) const {
        return group.nodes.front() != 0 && tree_.names()[group.name].kind != NameKind::Unknown;
    }

    const CauseTree& tree_;
    const RunWeights& weights_;
    SearchResult result_;
    std::vector<double> excess_;             // by node, including all below it
    std::vector<double> all_;                // the same for delayed and normal runs together
    std::vector<std::uint32_t> children_;    // of all nodes, by parent
    std::vector<std::uint32_t> child_ends_;  // by node: end of its children in children_
    std::vector<double> run_excess_;         // by run: of the whole run
    std::vector<double> group_excess_;       // by run: of the group examined last
    std::shared_ptr<const Excess> group_time_;
};

void Search::measure() {
    const auto& nodes = tree_.nodes();
    excess_.assign(nodes.size(), 0);
    all_.assign(nodes.size(), 0);
    std::vector<double> durations;
    for (std::size_t i = 0; i < tree_.runs().size(); ++i) {
        const TreeRun& run = tree_.runs()[i];
        const double weight = weights_.of_run[i];
        durations.push_back(static_cast<double>(run.recorded_ns));
        for (std::size_t at = run.entries_begin; at < run.entries_end; ++at) {
            const TreeEntry& entry = tree_.entries()[at];
            excess_[entry.node] += weight * static_cast<double>(entry.time_ns);
            all_[entry.node] += std::abs(weight) * static_cast<double>(entry.time_ns);
        }
    }
    child_ends_.assign(nodes.size() + 1, 0);
    for (std::size_t i = nodes.size(); i-- > 1;) {
        excess_[nodes[i].parent] += excess_[i];
        all_[nodes[i].parent] += all_[i];
        ++child_ends_[nodes[i].parent + 1];
    }
    std::partial_sum(child_ends_.begin(), child_ends_.end(), child_ends_.begin());
    children_.resize(nodes.size());
    std::vector<std::uint32_t> next(child_ends_.begin(), child_ends_.end() - 1);
    for (std::uint32_t i = 1; i < nodes.size(); ++i) children_[next[nodes[i].parent]++] = i;
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        if (all_[i] >= place_share * all_[0] && all_[i] < same_as_parent * all_[nodes[i].parent])
            ++result_.places;
    }
    const Excess whole(tree_, weights_, std::move(durations));
    run_excess_.assign(tree_.runs().size(), 0);
    for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
        if (tree_.runs()[i].delayed) run_excess_[i] = std::max(whole.of(i), 0.0);
    }
}

// The children large enough to matter, largest first. Measured by the time of delayed runs, not by
// extra time: some delayed runs may have so much less of a child than normal runs that it cancels
// out the extra time of others.
std::vector<Group> Search::children_of(const Group& group) const {
    std::map<std::uint32_t, Group> by_name;
    for (const std::uint32_t node : group.nodes) {
        for (std::uint32_t at = child_ends_[node]; at < child_ends_[node + 1]; ++at) {
            const std::uint32_t child = children_[at];
            Group& sum = by_name[tree_.nodes()[child].name];
            sum.name = tree_.nodes()[child].name;
            sum.nodes.push_back(child);
            sum.by_share = group.by_share;
            sum.excess += excess_[child];
            sum.delayed += (all_[child] + excess_[child]) / 2;
        }
    }
    std::vector<Group> groups;
    for (auto& [name, sum] : by_name) {
        if (sum.delayed >= least_of(group)) groups.push_back(std::move(sum));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.delayed > b.delayed; });
    if (groups.size() > max_children) groups.resize(max_children);
    return groups;
}

// Measures each child, and the whole group, in each run. A run with little of a child counts as
// having none of it.
std::vector<Child> Search::look_at(const Group& group, std::vector<Group> groups) {
    constexpr std::uint32_t elsewhere = UINT32_MAX;
    const std::size_t rest = groups.size();
    std::vector<std::uint32_t> slots(tree_.nodes().size(), elsewhere);
    for (const std::uint32_t node : group.nodes) slots[node] = static_cast<std::uint32_t>(rest);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (const std::uint32_t node : groups[i].nodes)
            slots[node] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 1; i < slots.size(); ++i) {
        if (slots[i] == elsewhere) slots[i] = slots[tree_.nodes()[i].parent];
    }
    std::vector<std::vector<double>> values(groups.size() + 1,
                                            std::vector<double>(tree_.runs().size(), 0));
    for (std::size_t i = 0; i < tree_.runs().size(); ++i) {
        const TreeRun& run = tree_.runs()[i];
        for (std::size_t at = run.entries_begin; at < run.entries_end; ++at) {
            const TreeEntry& entry = tree_.entries()[at];
            const std::uint32_t slot = slots[entry.node];
            if (slot == elsewhere) continue;
            if (slot != rest) values[slot][i] += static_cast<double>(entry.time_ns);
            values[rest][i] += static_cast<double>(entry.time_ns);
        }
    }
    group_time_ = std::make_shared<const Excess>(tree_, weights_, std::move(values[rest]));
    group_excess_.assign(tree_.runs().size(), 0);
    for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
        if (tree_.runs()[i].delayed) group_excess_[i] = std::max(group_time_->of(i), 0.0);
    }
    std::vector<Child> children(groups.size());
    for (std::size_t c = 0; c < groups.size(); ++c) {
        children[c].group = std::move(groups[c]);
        children[c].time = std::make_shared<const Excess>(tree_, weights_, std::move(values[c]));
        for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
            if (!tree_.runs()[i].delayed) continue;
            const double extra = children[c].time->of(i);
            if (extra <= children[c].time->of_normal_runs() || extra < part_of_run * run_excess_[i])
                continue;
            children[c].runs[i] = extra;
            children[c].sum += extra * weights_.of_run[i];
        }
        children[c].group.excess = children[c].sum;
    }
    std::erase_if(children, [&](const Child& child) { return child.sum < least_of(group); });
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return a.sum > b.sum; });
    return children;
}

// Groups children that occur in the same runs.
std::vector<std::vector<std::size_t>> Search::part(const std::vector<Child>& children) {
    const auto together = [&](std::size_t a, std::size_t b) {
        double shared = 0;
        double a_sum = 0;
        double b_sum = 0;
        for (const auto& [run, extra] : children[a].runs) {
            a_sum += extra;
            const auto other = children[b].runs.find(run);
            if (other != children[b].runs.end()) shared += std::min(extra, other->second);
        }
        for (const auto& [run, extra] : children[b].runs) b_sum += extra;
        return shared >= together_share * std::min(a_sum, b_sum);
    };
    std::vector<std::vector<std::size_t>> parts;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto place =
            std::find_if(parts.begin(), parts.end(), [&](const std::vector<std::size_t>& members) {
                return std::all_of(members.begin(), members.end(),
                                   [&](std::size_t member) { return together(member, i); });
            });
        if (place == parts.end()) {
            parts.push_back({i});
        } else {
            place->push_back(i);
        }
    }
    return parts;
}

// The members with causes of their own, separate from their caller's: in the runs of the first
// member, the rest of the caller (which normal runs have too) did not grow as much as they did.
std::vector<std::size_t> Search::grown_apart(const std::vector<Child>& children,
                                             const std::vector<std::size_t>& members) const {
    const auto& runs = children[members.front()].runs;
    double whole_usual = 0;
    double whole_extra = 0;
    double rest_usual = 0;
    std::vector<double> rest_growth;
    for (const auto& [run, extra] : runs) {
        const double usual_of_group = group_time_->value(run) - group_time_->of(run);
        double rest = group_time_->value(run);
        double usual = usual_of_group;
        for (const std::size_t member : members) {
            rest -= children[member].time->value(run);
            usual -= children[member].time->value(run) - children[member].time->of(run);
        }
        whole_usual += weights_.of_run[run] * usual_of_group;
        whole_extra += weights_.of_run[run] * group_excess_[run];
        rest_usual += weights_.of_run[run] * usual;
        if (usual > 0) rest_growth.push_back(rest / usual);
    }
    if (rest_usual <= usual_rest * whole_usual || rest_growth.empty()) return {};
    const double bound = part_growth * std::max(median(std::move(rest_growth)), 1.0);
    std::vector<std::size_t> apart;
    for (const std::size_t member : members) {
        const Excess& time = *children[member].time;
        double now = 0;
        double usual = 0;
        for (const auto& [run, extra] : runs) {
            now += weights_.of_run[run] * time.value(run);
            usual += weights_.of_run[run] * (time.value(run) - time.of(run));
        }
        if (now - usual >= part_share * whole_extra && now >= bound * usual)
            apart.push_back(member);
    }
    return apart;
}

// The child's part of the group's extra time, in the runs that have the child.
double Search::kept_by(const Child& child) const {
    double kept = 0;
    double all = 0;
    for (const auto& [run, extra] : child.runs) {
        kept += std::min(extra, group_excess_[run]) * weights_.of_run[run];
        all += group_excess_[run] * weights_.of_run[run];
    }
    return all > 0 ? kept / all : 0;
}

// The group's share of the time of delayed runs, divided by its share of the time of normal runs.
double Search::lift_of(const Group& group) const {
    double excess = 0;
    double all = 0;
    for (const std::uint32_t node : group.nodes) {
        excess += excess_[node];
        all += all_[node];
    }
    const double normal = (all - excess) / 2 * (all_[0] + excess_[0]);
    const double delayed = (all + excess) / 2 * (all_[0] - excess_[0]);
    return normal > 0 ? delayed / normal : 1e9;
}

std::uint32_t Search::caller_of(std::uint32_t node) const {
    const auto& nodes = tree_.nodes();
    const auto is_function = [&](std::uint32_t at) {
        return at != 0 && tree_.names()[nodes[at].name].kind == NameKind::Function;
    };
    const std::uint32_t function = is_function(node) ? node : nodes[node].parent;
    const std::uint32_t caller = nodes[function].parent;
    if (!is_function(function) || !is_function(caller)) return 0;
    return excess_[node] >= kept_share * excess_[caller] ? caller : 0;
}

void Search::blame(const Group& group, const std::vector<std::uint32_t>& nodes, double excess) {
    if (result_.suspects.size() >= max_suspects || !has_frame(group)) return;
    Suspect suspect;
    suspect.excess = excess;
    suspect.by_share = group.by_share;
    suspect.node = *std::max_element(
        group.nodes.begin(), group.nodes.end(),
        [&](std::uint32_t a, std::uint32_t b) { return excess_[a] < excess_[b]; });
    suspect.caller = caller_of(suspect.node);
    for (const std::uint32_t node : nodes) {
        result_.suspect_of_node[node] = static_cast<std::uint32_t>(result_.suspects.size());
    }
    result_.suspects.push_back(suspect);
}

void Search::follow(Group group) {
    std::vector<Group> groups = children_of(group);
    while (groups.size() == 1 && groups.front().excess >= plain_share * group.excess) {
        group = std::move(groups.front());
        groups = children_of(group);
    }
    if (groups.empty()) return blame(group, group.nodes, group.excess);
    std::vector<Child> children = look_at(group, std::move(groups));
    const bool grew_as_all = lift_of(group) < min_lift;
    std::vector<std::size_t> followed;
    std::vector<std::uint32_t> kept_nodes;
    double kept_excess = group.excess;
    for (const std::vector<std::size_t>& members : part(children)) {
        const std::size_t first = members.front();
        if (!has_frame(group)) {
            followed.insert(followed.end(), members.begin(), members.end());
            continue;
        }
        const std::vector<std::size_t> apart = grown_apart(children, members);
        followed.insert(followed.end(), apart.begin(), apart.end());
        if (kept_by(children[first]) >= kept_share) {
            if (std::ranges::find(apart, first) == apart.end()) followed.push_back(first);
        } else {
            for (const std::size_t member : members) {
                if (std::ranges::find(apart, member) != apart.end()) continue;
                // The caller grew only as much as everything else, so blaming it says nothing; a
                // part that grew more does.
                if (grew_as_all && lift_of(children[member].group) >= part_lift) {
                    children[member].group.by_share = true;
                    followed.push_back(member);
                    continue;
                }
                const auto& nodes = children[member].group.nodes;
                kept_nodes.insert(kept_nodes.end(), nodes.begin(), nodes.end());
            }
        }
    }
    for (const std::size_t i : followed) kept_excess -= children[i].sum;
    if (followed.empty() || kept_excess >= rest_share * result_.total_excess) {
        kept_nodes = group.nodes;
    }
    if (!kept_nodes.empty()) blame(group, kept_nodes, kept_excess);
    group_time_.reset();
    for (Child& child : children) child.time.reset();
    for (const std::size_t i : followed) follow(children[i].group);
}

// Time below a suspect counts for it, unless a nearer suspect lies in between.
void Search::spread() {
    for (std::size_t i = 1; i < result_.suspect_of_node.size(); ++i) {
        std::uint32_t& suspect = result_.suspect_of_node[i];
        if (suspect == no_suspect) suspect = result_.suspect_of_node[tree_.nodes()[i].parent];
    }
}

}  // namespace

SearchResult search_causes(const CauseTree& tree, const RunWeights& weights) {
    return Search(tree, weights).run();
}

}  // namespace lagtrap::server::reports
