#include "daemon/runs/open_batch.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::daemon {
namespace {

// Approximate sizes in a batch: texts are written once, numbers by their size.
constexpr std::uint64_t run_bytes = 80;
constexpr std::uint64_t stage_bytes = 14;
constexpr std::uint64_t times_bytes = 24;
constexpr std::uint64_t frame_bytes = 24;
// Below the limits of a batch, because naming adds inlined functions.
constexpr std::size_t stacks_limit = 5'000;
constexpr std::size_t frames_limit = 40'000;

}  // namespace

void OpenBatch::add(std::uint32_t event, trace::RecordedRun run, std::uint64_t now_ns) {
    gathered_.batch.runs_sampled_away += run.weight - 1;
    bytes_ += run_bytes + run.stages.size() * stage_bytes + (run.times ? times_bytes : 0);
    if (gathered_.batch.runs.empty()) first_ns_ = now_ns;
    last_of_event_[event] = gathered_.batch.runs.size();
    gathered_.batch.runs.push_back(std::move(run));
}

std::uint32_t OpenBatch::add_stack(trace::RunStack stack) {
    frames_ += stack.size();
    bytes_ += stack.size() * frame_bytes;
    gathered_.batch.stacks.push_back(std::move(stack));
    return static_cast<std::uint32_t>(gathered_.batch.stacks.size());
}

void OpenBatch::add_module_once(const trace::RecordedModule& module) {
    const bool known = std::any_of(
        gathered_.modules.begin(), gathered_.modules.end(), [&](const trace::RecordedModule& one) {
            return one.path == module.path && one.build_id == module.build_id;
        });
    if (!known) add_module(module);
}

bool OpenBatch::add_weight(std::uint32_t event, std::uint64_t runs) {
    const auto last = last_of_event_.find(event);
    if (last == last_of_event_.end()) return false;
    trace::RecordedRun& run = gathered_.batch.runs[last->second];
    if (runs > UINT32_MAX - run.weight) return false;
    run.weight += static_cast<std::uint32_t>(runs);
    gathered_.batch.runs_sampled_away += runs;
    return true;
}

std::uint64_t OpenBatch::runs() const {
    return gathered_.batch.runs.size() + gathered_.batch.runs_sampled_away +
           gathered_.batch.runs_lost;
}

bool OpenBatch::full(const settings::Runs& limits) const {
    return bytes_ >= limits.batch_size_bytes ||
           gathered_.batch.runs.size() >= trace::run_batch_runs_limit ||
           gathered_.batch.stacks.size() >= stacks_limit || frames_ >= frames_limit;
}

std::optional<std::uint64_t> OpenBatch::due_ns(const settings::Runs& limits) const {
    if (gathered_.batch.runs.empty()) return std::nullopt;
    return first_ns_ + static_cast<std::uint64_t>(limits.batch_interval.count());
}

GatheredBatch OpenBatch::close() { return std::exchange(*this, OpenBatch{}).gathered_; }

}  // namespace lagtrap::daemon
