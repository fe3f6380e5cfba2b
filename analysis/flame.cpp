#include "analysis/flame.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace lagtrap::analysis {

namespace {

// JIT code has no file.
constexpr std::string_view run_time_module = "[jit]";

struct PairHash {
    std::size_t operator()(std::uint64_t key) const { return key * 0x9e3779b97f4a7c15ULL >> 13; }
};

bool is_wanted(TimeKind kind, FlameTime time) {
    switch (time) {
        case FlameTime::OnCpu: return kind == TimeKind::OnCpu;
        case FlameTime::OffCpu: return kind == TimeKind::Runnable || kind == TimeKind::Blocked;
        default: return true;
    }
}

class FlameMaker {
  public:
    FlameMaker(FlameTime time, FlameView view) : time_(time), view_(view) {
        flame_.nodes.emplace_back();
        flame_.nodes[0].name = name_of("", "");
    }

    // Adds times to their last node only; sum_up() adds them to the callers.
    void add(const RunProfile& profile, std::uint64_t FlameNode::*value) {
        names_of_frames_.assign(profile.frames.size(), UINT32_MAX);
        for (const ProfileEntry& entry : profile.entries) {
            if (!is_wanted(entry.links.front().kind, time_)) continue;
            const std::size_t links = view_ == FlameView::OwnStack ? 1 : entry.links.size();
            std::uint32_t node = 0;
            for (std::size_t i = 0; i < links; ++i) {
                const ProfileLink& link = entry.links[i];
                for (const std::uint32_t frame : profile.stack_of(link.node))
                    node = call(node, profile, frame);
                if (const std::string state = state_of(profile, link); !state.empty()) {
                    node = child_of(node, name_of(state, ""), FlameKind::State);
                }
                if (i + 1 < links) {
                    const std::string& thread = profile.texts[entry.links[i + 1].thread];
                    const std::string waits =
                        "waits for " + (thread.empty() ? "another thread" : thread);
                    node = child_of(node, name_of(waits, ""), FlameKind::State);
                }
            }
            flame_.nodes[node].*value += entry.time_ns;
        }
    }

    void sum_up(std::uint64_t profiles, std::uint64_t runs) {
        for (std::size_t i = flame_.nodes.size(); i-- > 1;) {
            FlameNode& node = flame_.nodes[i];
            FlameNode& parent = flame_.nodes[static_cast<std::size_t>(node.parent)];
            parent.value_ns += node.value_ns;
            parent.baseline_ns += node.baseline_ns;
        }
        flame_.baseline_runs = runs;
        for (FlameNode& node : flame_.nodes) {
            node.value_ns /= std::max<std::uint64_t>(profiles, 1);
            node.baseline_ns = runs > 0 ? node.baseline_ns / runs : 0;
        }
        flame_.total_ns = flame_.nodes[0].value_ns;
        flame_.baseline_total_ns = flame_.nodes[0].baseline_ns;
    }

    // A parent is never smaller than its children, so the remaining nodes keep their parents.
    void prune(std::size_t limit) {
        std::vector<FlameNode>& nodes = flame_.nodes;
        if (nodes.size() <= limit) return;
        std::vector<std::uint32_t> order(nodes.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::max(nodes[a].value_ns, nodes[a].baseline_ns) >
                   std::max(nodes[b].value_ns, nodes[b].baseline_ns);
        });
        std::vector<bool> kept(nodes.size(), false);
        for (std::size_t i = 0; i < limit; ++i) kept[order[i]] = true;
        kept[0] = true;
        flame_.dropped = nodes.size() - limit;
        std::vector<std::int32_t> places(nodes.size(), 0);
        std::vector<FlameNode> rest;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!kept[i]) continue;
            places[i] = static_cast<std::int32_t>(rest.size());
            rest.push_back(nodes[i]);
            if (i > 0) rest.back().parent = places[static_cast<std::size_t>(nodes[i].parent)];
        }
        nodes = std::move(rest);
    }

    Flame take() { return std::move(flame_); }

  private:
    static std::string state_of(const RunProfile& profile, const ProfileLink& link) {
        switch (link.kind) {
            case TimeKind::OnCpu: return {};
            case TimeKind::Runnable: return "waits for a CPU";
            case TimeKind::Blocked: return "blocked: " + profile.texts[link.reason];
            default: return "unknown: " + profile.texts[link.reason];
        }
    }

    std::uint32_t call(std::uint32_t node, const RunProfile& profile, std::uint32_t frame) {
        const ProfileFrame& known = profile.frames[frame];
        if (names_of_frames_[frame] == UINT32_MAX)
            names_of_frames_[frame] = name_of(known.function, known.module);
        FlameKind kind = known.kernel ? FlameKind::Kernel : FlameKind::User;
        if (known.module == run_time_module) kind = FlameKind::RunTimeCode;
        return child_of(node, names_of_frames_[frame], kind);
    }

    std::uint32_t name_of(const std::string& function, const std::string& module) {
        const auto [known, added] = names_.try_emplace(
            function + '\0' + module, static_cast<std::uint32_t>(flame_.names.size()));
        if (added) flame_.names.push_back({function, module});
        return known->second;
    }

    std::uint32_t child_of(std::uint32_t node, std::uint32_t name, FlameKind kind) {
        const auto [known, added] =
            children_.try_emplace(static_cast<std::uint64_t>(node) << 32 | name,
                                  static_cast<std::uint32_t>(flame_.nodes.size()));
        if (added) flame_.nodes.push_back({static_cast<std::int32_t>(node), name, 0, 0, kind});
        return known->second;
    }

    FlameTime time_;
    FlameView view_;
    Flame flame_;
    std::unordered_map<std::string, std::uint32_t> names_;
    std::unordered_map<std::uint64_t, std::uint32_t, PairHash> children_;
    std::vector<std::uint32_t> names_of_frames_;  // of the current profile
};

}  // namespace

Flame flame_of(const RunProfile& profile, std::span<const RunProfile> baseline, FlameTime time,
               FlameView view, std::size_t node_limit) {
    return flame_of_means(std::span(&profile, 1), baseline, time, view, node_limit);
}

Flame flame_of_means(std::span<const RunProfile> profiles, std::span<const RunProfile> baseline,
                     FlameTime time, FlameView view, std::size_t node_limit) {
    FlameMaker maker(time, view);
    for (const RunProfile& profile : profiles) maker.add(profile, &FlameNode::value_ns);
    for (const RunProfile& normal : baseline) maker.add(normal, &FlameNode::baseline_ns);
    maker.sum_up(profiles.size(), baseline.size());
    maker.prune(std::max<std::size_t>(node_limit, 1));
    return maker.take();
}

}  // namespace lagtrap::analysis
