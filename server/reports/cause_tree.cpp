#include "server/reports/cause_tree.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "analysis/plumbing.hpp"
#include "analysis/wait_kind.hpp"
#include "server/reports/frame_names.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr std::uint32_t not_yet = UINT32_MAX;
constexpr std::size_t max_filled = 64;  // longest entries of a profile to examine
// of a run: 36 years; sums of such times do not overflow
constexpr std::uint64_t max_ns = 1ULL << 60;

// The time before a run's recording began, or in a gap of it, is missing data and not part of the
// run's behaviour.
bool was_not_recorded(const analysis::RunProfile& profile, const analysis::ProfileEntry& entry) {
    const analysis::ProfileLink& own = entry.links.front();
    return own.kind == analysis::TimeKind::Unknown &&
           analysis::is_missing_record(profile.texts[own.reason]);
}

bool begins_with(const analysis::ProfileEntry& entry,
                 std::span<const analysis::ProfileLink> links) {
    return entry.links.size() > links.size() &&
           std::equal(links.begin(), links.end(), entry.links.begin());
}

// Times by entry. If the record of a thread waited for is missing before its recording began, that
// time is assumed to be like the rest of the same wait, if the rest is larger. Otherwise a wait
// would be blamed although its end and its thread are known.
std::vector<std::uint64_t> times_of(const analysis::RunProfile& profile) {
    std::vector<std::uint64_t> times;
    for (const analysis::ProfileEntry& entry : profile.entries) times.push_back(entry.time_ns);
    for (std::size_t i = 0; i < std::min(profile.entries.size(), max_filled); ++i) {
        const analysis::ProfileEntry& missing = profile.entries[i];
        const analysis::ProfileLink& last = missing.links.back();
        if (missing.links.size() < 2 || last.kind != analysis::TimeKind::Unknown) continue;
        if (!analysis::is_missing_record(profile.texts[last.reason])) continue;
        const std::span waits(missing.links.data(), missing.links.size() - 1);
        std::uint64_t known_ns = 0;
        const auto is_known = [&](std::size_t at) {
            const analysis::ProfileEntry& entry = profile.entries[at];
            return begins_with(entry, waits) &&
                   entry.links.back().kind != analysis::TimeKind::Unknown;
        };
        for (std::size_t at = 0; at < times.size(); ++at) known_ns += is_known(at) ? times[at] : 0;
        if (known_ns == 0 || known_ns < times[i]) continue;
        std::uint64_t left_ns = std::exchange(times[i], 0);
        for (std::size_t at = 0; at < times.size() && known_ns > 0; ++at) {
            if (!is_known(at)) continue;
            const auto part_ns = static_cast<std::uint64_t>(
                static_cast<unsigned __int128>(left_ns) * times[at] / known_ns);
            known_ns -= times[at];
            times[at] += part_ns;
            left_ns -= part_ns;
        }
    }
    return times;
}

}  // namespace

// Maps one profile's frames, texts and stacks to the tree's.
struct CauseTree::Mapping {
    const analysis::RunProfile& profile;
    std::vector<std::uint32_t> names;    // by frame; see TreeNames::part_of_caller
    std::vector<std::uint32_t> reasons;  // by text
    std::vector<bool> below_user;        // by node: has a frame of a program on its path
    std::vector<std::uint32_t> own;      // by node: for the run's own thread
    // by base and node: for threads waited for
    std::unordered_map<std::uint64_t, std::uint32_t, Hash> others;
    std::unordered_map<std::uint64_t, analysis::WaitKind, Hash> waits;  // by reason and node

    analysis::WaitKind kind_of(const analysis::ProfileLink& wait);
};

analysis::WaitKind CauseTree::Mapping::kind_of(const analysis::ProfileLink& wait) {
    const auto [known, added] = waits.try_emplace(
        static_cast<std::uint64_t>(wait.reason) << 32 | wait.node, analysis::WaitKind::Other);
    if (!added) return known->second;
    std::vector<std::string_view> functions;
    for (const std::uint32_t frame : profile.stack_of(wait.node))
        if (!profile.frames[frame].kernel) functions.push_back(profile.frames[frame].function);
    known->second = analysis::wait_kind_of(profile.texts[wait.reason], functions);
    return known->second;
}

CauseTree::CauseTree(std::size_t max_nodes, std::size_t max_entries)
    : max_nodes_(std::max<std::size_t>(max_nodes, 1)), max_entries_(max_entries) {
    nodes_.emplace_back();
}

std::uint32_t CauseTree::awaited_by(const analysis::RunProfile& profile,
                                    const analysis::ProfileEntry& entry) {
    if (entry.links.size() < 2) return 0;
    return texts_.number_of_thread(profile.texts[entry.links[1].thread]);
}

std::uint32_t CauseTree::child_of(std::uint32_t node, std::uint32_t name) {
    const std::uint64_t key = static_cast<std::uint64_t>(node) << 32 | name;
    if (nodes_.size() >= max_nodes_) {
        const auto known = children_.find(key);
        if (known != children_.end()) return known->second;
        ++paths_cut_;
        return node;
    }
    const auto [known, added] =
        children_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (added) nodes_.push_back({node, name});
    return known->second;
}

CauseTree::Mapping CauseTree::mapping_of(const analysis::RunProfile& profile) {
    Mapping mapping{profile, {}, {}, {}, {}, {}, {}};
    mapping.names.reserve(profile.frames.size());
    for (const analysis::ProfileFrame& frame : profile.frames) {
        const auto name = names_.number_of(frame);
        if (!name) ++paths_cut_;
        mapping.names.push_back(name.value_or(TreeNames::part_of_caller));
    }
    mapping.below_user.assign(profile.nodes.size(), false);
    for (std::size_t i = 1; i < profile.nodes.size(); ++i) {
        const analysis::ProfileNode& node = profile.nodes[i];
        mapping.below_user[i] =
            mapping.below_user[node.parent] || !profile.frames[node.frame].kernel;
    }
    mapping.reasons.assign(profile.texts.size(), not_yet);
    mapping.own.assign(profile.nodes.size(), not_yet);
    return mapping;
}

std::uint32_t CauseTree::node_of(Mapping& mapping, std::uint32_t base, std::uint32_t local) {
    const auto known = [&](std::uint32_t node) {
        if (node == 0) return base;
        if (base == 0) return mapping.own[node];
        const auto place = mapping.others.find(static_cast<std::uint64_t>(base) << 32 | node);
        return place == mapping.others.end() ? not_yet : place->second;
    };
    std::vector<std::uint32_t> missing;
    while (known(local) == not_yet) {
        missing.push_back(local);
        local = mapping.profile.nodes[local].parent;
    }
    std::uint32_t at = known(local);
    for (auto place = missing.rbegin(); place != missing.rend(); ++place) {
        const std::uint32_t frame = mapping.profile.nodes[*place].frame;
        // Kernel work for a program counts as the program's function. A kernel thread has only
        // kernel functions.
        const bool for_program = mapping.profile.frames[frame].kernel && mapping.below_user[*place];
        if (mapping.names[frame] != TreeNames::part_of_caller && !for_program)
            at = child_of(at, mapping.names[frame]);
        if (base == 0) {
            mapping.own[*place] = at;
        } else {
            mapping.others[static_cast<std::uint64_t>(base) << 32 | *place] = at;
        }
    }
    return at;
}

// Deep recursion in a library can fill a truncated stack completely. Then the recursing function
// stands for its caller.
std::uint32_t CauseTree::place_of(Mapping& mapping, std::uint32_t base, std::uint32_t local) {
    const std::uint32_t place = node_of(mapping, base, local);
    if (place != base) return place;
    const analysis::ProfileFrame* outermost = nullptr;
    for (std::uint32_t at = local; at != 0; at = mapping.profile.nodes[at].parent) {
        const analysis::ProfileFrame& frame =
            mapping.profile.frames[mapping.profile.nodes[at].frame];
        if (!frame.kernel && !frame.function.empty() && !analysis::is_thread_start(frame.function))
            outermost = &frame;
    }
    if (outermost == nullptr) return place;
    const std::string module(stable_module(outermost->module));
    return child_of(place, names_.number_of(owner_of(stable_function(outermost->function)), module,
                                            NameKind::Function));
}

std::uint32_t CauseTree::end_of(Mapping& mapping, const analysis::ProfileEntry& entry,
                                std::uint64_t noted_ns) {
    std::uint32_t at = 0;
    for (const analysis::ProfileLink& link : entry.links) {
        switch (link.kind) {
            case analysis::TimeKind::Unknown:
                return child_of(at, names_.number_of("[not recorded]", "", NameKind::Unknown));
            // On a busy machine all functions wait for a CPU, so this is one cause wherever they
            // are. If a run waits for another thread, the cause is what that thread was doing,
            // whether or not it had a CPU.
            case analysis::TimeKind::Runnable:
                if (&link != entry.links.data()) at = place_of(mapping, at, link.node);
                return child_of(at, names_.number_of("[waits for a CPU]", "", NameKind::Runnable));
            case analysis::TimeKind::OnCpu:
                at = child_of(place_of(mapping, at, link.node),
                              names_.number_of("[on CPU]", "", NameKind::OnCpu));
                break;
            case analysis::TimeKind::Blocked: {
                at = place_of(mapping, at, link.node);
                std::uint32_t& reason = mapping.reasons[link.reason];
                if (reason == not_yet) {
                    reason = names_.number_of("[" + mapping.profile.texts[link.reason] + "]", "",
                                              NameKind::Blocked);
                }
                at = child_of(at, reason);
                if (noted_ns == 0) break;
                const analysis::ProfileLink* awaited =
                    &link == &entry.links.back() ? nullptr : &link + 1;
                waits_.add(at, mapping.kind_of(link),
                           awaited ? mapping.profile.texts[awaited->thread] : "", noted_ns);
            }
        }
    }
    return at;
}

void CauseTree::add(const ProfiledRun& run, const analysis::RunProfile& profile) {
    if (entries_.size() + profile.entries.size() > max_entries_ || profile.duration_ns > max_ns) {
        ++runs_left_out_;
        return;
    }
    TreeRun added;
    added.delayed = run.delayed;
    added.host = texts_.number_of(run.host);
    added.user = texts_.number_of(run.user);
    added.build = texts_.number_of(run.build);
    added.bundle = texts_.number_of(run.bundle);
    added.delay = run.delay;
    added.begin_realtime_ns = run.begin_realtime_ns;
    Mapping mapping = mapping_of(profile);
    std::vector<TreeEntry> entries;
    entries.reserve(profile.entries.size());
    const std::vector<std::uint64_t> times = times_of(profile);
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (times[i] == 0 || was_not_recorded(profile, profile.entries[i])) continue;
        const std::uint32_t awaited = run.delayed ? awaited_by(profile, profile.entries[i]) : 0;
        entries.push_back(
            {end_of(mapping, profile.entries[i], run.delayed ? times[i] : 0), awaited, times[i]});
        added.recorded_ns += times[i];
    }
    if (added.recorded_ns == 0) return;
    added.cut = added.recorded_ns < profile.duration_ns;
    std::sort(entries.begin(), entries.end(), [](const TreeEntry& a, const TreeEntry& b) {
        return a.node != b.node ? a.node < b.node : a.time_ns > b.time_ns;
    });
    added.entries_begin = entries_.size();
    for (const TreeEntry& entry : entries) {
        if (entries_.size() > added.entries_begin && entries_.back().node == entry.node) {
            entries_.back().time_ns += entry.time_ns;
        } else {
            entries_.push_back(entry);
        }
    }
    added.entries_end = entries_.size();
    runs_.push_back(added);
}

}  // namespace lagtrap::server::reports
