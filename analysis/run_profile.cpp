#include "analysis/run_profile.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/block_reason.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

// Puts the parts of a walk into a profile. Merges places within a function, and stores each name,
// path and text once.
class ProfileMaker {
  public:
    ProfileMaker(const Recording& recording, RunProfile& profile)
        : recording_(recording), profile_(profile) {
        texts_.emplace(std::string(), 0);
    }

    void take(const ChainWalk& walk) {
        std::map<std::vector<std::uint64_t>, std::uint64_t> merged;
        for (const ChainTime& time : walk.times()) {
            std::vector<std::uint64_t> key;
            for (const ChainWalk::Wait& wait : walk.waits_before(time.position)) {
                append(key, link_of(TimeKind::Blocked, wait.tid, wait.stack, {}));
            }
            append(key, link_of(time.kind, time.tid, time.stack, time.unknown_because));
            merged[key] += time.time_ns;
        }
        for (const auto& [key, time_ns] : merged)
            profile_.entries.push_back(entry_of(key, time_ns));
        std::stable_sort(
            profile_.entries.begin(), profile_.entries.end(),
            [](const ProfileEntry& a, const ProfileEntry& b) { return a.time_ns > b.time_ns; });
        profile_.waits_cut = walk.waits_cut();
    }

  private:
    static void append(std::vector<std::uint64_t>& key, const ProfileLink& link) {
        key.push_back(static_cast<std::uint64_t>(link.kind) << 32 | link.reason);
        key.push_back(static_cast<std::uint64_t>(link.thread) << 32 | link.node);
    }

    static ProfileEntry entry_of(const std::vector<std::uint64_t>& key, std::uint64_t time_ns) {
        ProfileEntry entry;
        entry.time_ns = time_ns;
        for (std::size_t i = 0; i + 1 < key.size(); i += 2) {
            entry.links.push_back({static_cast<TimeKind>(key[i] >> 32),
                                   static_cast<std::uint32_t>(key[i]),
                                   static_cast<std::uint32_t>(key[i + 1] >> 32),
                                   static_cast<std::uint32_t>(key[i + 1])});
        }
        return entry;
    }

    ProfileLink link_of(TimeKind kind, std::uint32_t tid, StackId stack,
                        std::string_view unknown_because) {
        ProfileLink link;
        link.kind = kind;
        link.node = node_of(stack);
        link.thread = thread_of(tid);
        if (kind == TimeKind::Unknown) link.reason = text_of(std::string(unknown_because));
        if (kind == TimeKind::Blocked) {
            const auto [known, added] = reasons_.try_emplace(stack, 0);
            if (added) known->second = text_of(reason_of_stack(recording_, stack));
            link.reason = known->second;
        }
        return link;
    }

    std::uint32_t text_of(const std::string& text) {
        const auto [known, added] =
            texts_.try_emplace(text, static_cast<std::uint32_t>(profile_.texts.size()));
        if (added) profile_.texts.push_back(text);
        return known->second;
    }

    // A thread of another process is named with its process.
    std::uint32_t thread_of(std::uint32_t tid) {
        const Thread* thread = recording_.find_thread(tid);
        if (thread == nullptr) return 0;
        const std::string& name = recording_.name(thread->name);
        const std::string& process = recording_.process_name(thread->pid);
        if (thread->pid == profile_.pid || process == name || process.empty()) return text_of(name);
        return text_of(process + "/" + name);
    }

    std::uint32_t frame_of(const Frame& frame) {
        const auto key = std::make_tuple(frame.label, frame.module, frame.kernel);
        const auto [known, added] =
            frames_.try_emplace(key, static_cast<std::uint32_t>(profile_.frames.size()));
        if (added) {
            profile_.frames.push_back(
                {recording_.name(frame.label), recording_.name(frame.module), frame.kernel});
        }
        return known->second;
    }

    std::uint32_t node_of(StackId stack) {
        const auto [known, added] = stack_nodes_.try_emplace(stack, 0);
        if (!added) return known->second;
        std::uint32_t node = 0;
        for (const std::uint32_t place : recording_.stacks[stack]) {
            const std::uint32_t frame = frame_of(recording_.frames[place]);
            const auto [child, is_new] = nodes_.try_emplace(
                {node, frame}, static_cast<std::uint32_t>(profile_.nodes.size()));
            if (is_new) profile_.nodes.push_back({node, frame});
            node = child->second;
        }
        stack_nodes_[stack] = node;
        return node;
    }

    const Recording& recording_;
    RunProfile& profile_;
    std::unordered_map<std::string, std::uint32_t> texts_;
    std::unordered_map<StackId, std::uint32_t> reasons_;
    std::unordered_map<StackId, std::uint32_t> stack_nodes_;
    std::map<std::tuple<NameId, NameId, bool>, std::uint32_t> frames_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
};

trace::Delay as_delay(const Run& run) {
    trace::Delay delay;
    delay.run_id = run.id;
    delay.event = run.event;
    delay.threshold_ns = run.threshold_ns;
    delay.begin_ns = run.begin_ns;
    delay.duration_ns = run.end_ns - run.begin_ns;
    delay.in_go = run.in_go;
    delay.goroutine = run.goroutine;
    delay.begin_pid = run.begin_pid;
    delay.begin_tid = run.begin_tid;
    delay.end_pid = run.end_pid;
    delay.end_tid = run.end_tid;
    for (const RecordedStage& stage : run.stages) {
        if (stage.begin_ns < run.begin_ns) continue;
        delay.stages.push_back({stage.name, stage.begin_ns - run.begin_ns, stage.tid});
    }
    return delay;
}

}  // namespace

std::string_view to_text(TimeKind kind) {
    switch (kind) {
        case TimeKind::OnCpu: return "on CPU";
        case TimeKind::Runnable: return "runnable";
        case TimeKind::Blocked: return "blocked";
        default: return "unknown";
    }
}

bool is_missing_record(std::string_view unknown_because) {
    // "between threads" occurs in profiles of older bundles.
    return unknown_because != "between its markers" && unknown_because != "in a goroutine" &&
           unknown_because != "between threads" && unknown_because != "thread had ended";
}

std::vector<std::uint32_t> RunProfile::stack_of(std::uint32_t node) const {
    std::vector<std::uint32_t> stack;
    for (; node != 0; node = nodes[node].parent) stack.push_back(nodes[node].frame);
    std::reverse(stack.begin(), stack.end());
    return stack;
}

RunProfile profile_of_delay(const Recording& recording, const trace::Delay& delay) {
    RunProfile profile;
    profile.event = delay.event;
    profile.process =
        delay.process.empty() ? recording.process_name(delay.begin_pid) : delay.process;
    profile.run_id = delay.run_id;
    profile.begin_ns = delay.begin_ns;
    profile.duration_ns = end_of(delay) - delay.begin_ns;
    profile.threshold_ns = delay.threshold_ns;
    profile.delay = true;
    profile.pid = delay.begin_pid;
    profile.tid = delay.begin_tid;
    ChainWalk walk(recording);
    walk.walk(intervals_of_delay(recording, delay));
    ProfileMaker(recording, profile).take(walk);
    return profile;
}

std::vector<RunProfile> profiles_of_normal_runs(const Recording& recording, std::string_view event,
                                                std::size_t limit, std::uint64_t* left_out) {
    std::vector<const Run*> runs;
    for (const Run& run : recording.runs) {
        const bool whole = !run.open && !run.abandoned && run.end_ns >= run.begin_ns;
        const bool within = run.begin_ns >= recording.begin_ns && run.end_ns <= recording.end_ns;
        if (run.event == event && !run.delay && whole && within) runs.push_back(&run);
    }
    const std::size_t count = std::min(limit, runs.size());
    if (left_out != nullptr) *left_out = runs.size() - count;
    std::vector<RunProfile> profiles;
    profiles.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        profiles.push_back(profile_of_delay(recording, as_delay(*runs[i * runs.size() / count])));
        profiles.back().delay = false;
    }
    return profiles;
}

}  // namespace lagtrap::analysis
