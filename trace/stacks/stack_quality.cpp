#include "trace/stacks/stack_quality.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lagtrap::trace {
namespace {

constexpr std::size_t stops_limit = 20;

constexpr std::array<const char*, LAGTRAP_STACK_ENDS> end_names{
    "unknown",     "complete", "too-deep",      "bad-address", "no-process",
    "no-mapping",  "no-table", "out-of-budget", "gap",         "unsupported",
    "no-progress", "32-bit",   "copy-ended"};

}  // namespace

const char* stack_end_name(std::uint8_t end) {
    return end < end_names.size() ? end_names[end] : end_names[0];
}

void StackQualityCounter::count(StackUse use, std::uint32_t pid, std::uint64_t kernel_stack_id,
                                std::uint64_t user_stack_id) {
    if (const CallStack* kernel = stacks_.find(kernel_stack_id)) count_frames(*kernel);
    if (user_stack_id == 0) return;
    const CallStack* user = stacks_.find(user_stack_id);
    if (user != nullptr) count_frames(*user);
    count_walk(use, pid, user);
}

void StackQualityCounter::count_frames(const CallStack& stack) {
    quality_.frames += stack.function_count;
    quality_.frames_named += stack.named_count;
    quality_.frames_located += stack.located_count;
}

void StackQualityCounter::count_walk(StackUse use, std::uint32_t pid, const CallStack* user) {
    StackWalks& walks = use == StackUse::OnCpu ? quality_.on_cpu : quality_.off_cpu;
    const bool complete = user != nullptr && user->complete;
    ++quality_.user_stacks;
    if (complete) ++quality_.user_stacks_complete;
    for (StackWalks* const counts : {&walks, &by_process_[pid]}) {
        ++counts->stacks;
        if (!complete) continue;
        ++counts->complete;
        if (user->by_frame_pointers) ++counts->by_frame_pointers;
        if (user->late) ++counts->late;
    }
    if (complete) return;
    // The outermost frame is the one the walk could not leave.
    const ModuleId module =
        user == nullptr ? unknown_module : stacks_.frames()[stacks_.frames_of(*user).back()].module;
    StackStop& stop = stops_[{module, user == nullptr ? lost : user->end}];
    ++(use == StackUse::OnCpu ? stop.on_cpu : stop.off_cpu);
}

void StackQualityCounter::finish(StackQuality& quality,
                                 const std::set<std::uint32_t>& delayed) const {
    quality = quality_;
    for (const std::uint32_t pid : delayed) {
        const auto found = by_process_.find(pid);
        if (found == by_process_.end()) continue;
        quality.delayed.stacks += found->second.stacks;
        quality.delayed.complete += found->second.complete;
        quality.delayed.by_frame_pointers += found->second.by_frame_pointers;
        quality.delayed.late += found->second.late;
    }
    for (const auto& [place, counts] : stops_) {
        const auto& [module, reason] = place;
        StackStop& stop = quality.stops.emplace_back(counts);
        stop.reason = reason == lost ? "lost" : stack_end_name(reason);
        if (reason != lost) stop.module = modules_.at(module).path;
    }
    std::stable_sort(quality.stops.begin(), quality.stops.end(),
                     [](const StackStop& a, const StackStop& b) { return a.count() > b.count(); });
    for (std::size_t i = stops_limit; i < quality.stops.size(); ++i) {
        quality.other_stops.on_cpu += quality.stops[i].on_cpu;
        quality.other_stops.off_cpu += quality.stops[i].off_cpu;
    }
    if (quality.stops.size() > stops_limit) quality.stops.resize(stops_limit);
}

}  // namespace lagtrap::trace
