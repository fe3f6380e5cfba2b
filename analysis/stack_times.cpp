#include "analysis/stack_times.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/block_reason.hpp"
#include "analysis/plumbing.hpp"

namespace lagtrap::analysis {

namespace {

// Distributes `whole` in proportion to counts, exactly: rounding errors carry over to the next
// share.
class Distribution {
  public:
    Distribution(std::uint64_t whole, std::uint64_t counts) : whole_(whole), counts_(counts) {}
    std::uint64_t share(std::uint64_t count) {
        seen_ += count;
        const auto until =
            static_cast<std::uint64_t>(static_cast<unsigned __int128>(whole_) * seen_ / counts_);
        return until - std::exchange(given_, until);
    }

  private:
    std::uint64_t whole_;
    std::uint64_t counts_;
    std::uint64_t seen_ = 0;
    std::uint64_t given_ = 0;
};

struct FunctionSum {
    FunctionTime time;
    double depth_weight = 0;
    std::map<std::string, std::uint64_t> reasons;
    std::map<std::pair<NameId, std::uint32_t>, std::uint64_t> lines;  // source file and line
    // so that recursion counts once per stack
    StackId counted_for = 0;
};

// Where a thread was seen, and its running time until then.
struct Sighting {
    std::uint64_t ran_ns = 0;
    StackId stack = 0;
};

struct Wait {
    std::uint64_t ran_ns = 0;
    std::uint64_t length_ns = 0;
};

// A thread's sightings and its waits for a CPU, both in time order.
struct Path {
    std::uint64_t ran_ns = 0;
    std::vector<Sighting> sightings;
    std::vector<Wait> waits;

    [[nodiscard]] StackId nearest(std::uint64_t at_ns) const {
        if (sightings.empty()) return 0;
        auto next = std::lower_bound(
            sightings.begin(), sightings.end(), at_ns,
            [](const Sighting& sighting, std::uint64_t at) { return sighting.ran_ns < at; });
        if (next == sightings.end()) return sightings.back().stack;
        if (next == sightings.begin() || next->ran_ns == at_ns) return next->stack;
        const auto last = next - 1;
        return at_ns - last->ran_ns <= next->ran_ns - at_ns ? last->stack : next->stack;
    }
};

void finish(const Recording& recording, FunctionSum& sum) {
    std::uint64_t max_ns = 0;
    for (const auto& [place, time_ns] : sum.lines) {
        if (time_ns <= max_ns) continue;
        max_ns = time_ns;
        sum.time.source = recording.name(place.first);
        sum.time.line = place.second;
    }
    const std::uint64_t total = sum.time.total_ns();
    if (total > 0) sum.time.depth = sum.depth_weight / static_cast<double>(total);
    for (const auto& [reason, length] : sum.reasons) {
        if (length > sum.time.reason_ns) {
            sum.time.reason_ns = length;
            sum.time.reason = reason;
        }
    }
}

void sort_functions(std::vector<FunctionTime>& functions, std::uint64_t whole_ns) {
    const std::uint64_t step = std::max<std::uint64_t>(whole_ns / 50, 1);
    std::sort(functions.begin(), functions.end(),
              [step](const FunctionTime& a, const FunctionTime& b) {
                  const std::uint64_t rank_a = a.total_ns() / step;
                  const std::uint64_t rank_b = b.total_ns() / step;
                  if (rank_a != rank_b) return rank_a > rank_b;
                  if (a.depth != b.depth) return a.depth > b.depth;
                  return a.name < b.name;
              });
}

}  // namespace

StackTimes StackTimes::of(const Recording& recording, const std::vector<Interval>& intervals,
                          const TimeSplit& split) {
    StackTimes times;
    std::map<StackId, std::uint64_t> counts;
    const std::uint64_t on_cpu_ns = split.on_cpu_ns - split.counted.on_cpu_ns;
    for (const Interval& interval : intervals) {
        if (interval.counted) continue;
        if (interval.state == ThreadState::Blocked && interval.queue.empty())
            times.times_[interval.stack].blocked_ns += interval.length_ns();
        const Thread* thread = recording.find_thread(interval.tid);
        if (thread == nullptr) continue;
        for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample& sample) {
            ++counts[sample.stack];
            ++times.samples_;
        });
    }
    times.add_waiting(recording, intervals);
    if (times.samples_ == 0) {
        if (on_cpu_ns > 0) times.times_[0].on_cpu_ns += on_cpu_ns;
        return times;
    }
    Distribution distribution(on_cpu_ns, times.samples_);
    for (const auto& [stack, count] : counts)
        times.times_[stack].on_cpu_ns += distribution.share(count);
    return times;
}

void StackTimes::add_waiting(const Recording& recording, const std::vector<Interval>& intervals) {
    std::map<std::uint32_t, Path> paths;  // by thread
    for (const Interval& interval : intervals) {
        if (interval.counted) continue;
        Path& path = paths[interval.tid];
        const bool seen =
            interval.state == ThreadState::Blocked || (interval.yielded && interval.stack != 0);
        if (seen) path.sightings.push_back({path.ran_ns, interval.stack});
        if (interval.state == ThreadState::Runnable)
            path.waits.push_back({path.ran_ns, interval.length_ns()});
        if (interval.state != ThreadState::Running) continue;
        if (const Thread* thread = recording.find_thread(interval.tid); thread != nullptr) {
            for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample& sample) {
                path.sightings.push_back(
                    {path.ran_ns + (sample.at_ns - interval.begin_ns), sample.stack});
            });
        }
        path.ran_ns += interval.length_ns();
    }
    for (const auto& [tid, path] : paths) {
        for (const Wait& wait : path.waits)
            times_[path.nearest(wait.ran_ns)].waiting_ns += wait.length_ns;
    }
}

std::vector<FunctionTime> StackTimes::functions(const Recording& recording) const {
    std::unordered_map<NameId, FunctionSum> sums;
    std::uint64_t whole_ns = 0;
    for (const auto& [stack, time] : times_) {
        whole_ns += time.total_ns();
        const auto frames = recording.stacks[stack];
        const std::string reason =
            time.blocked_ns > 0 ? reason_of_stack(recording, stack) : std::string();
        for (std::size_t depth = 0; depth < frames.size(); ++depth) {
            const Frame& frame = recording.frames[frames[depth]];
            FunctionSum& sum = sums[frame.label];
            if (depth + 1 == frames.size()) sum.time.self_on_cpu_ns += time.on_cpu_ns;
            if (sum.counted_for == stack) continue;
            sum.counted_for = stack;
            sum.time.kernel = frame.kernel;
            if (sum.time.module.empty()) sum.time.module = recording.name(frame.module);
            sum.time.on_cpu_ns += time.on_cpu_ns;
            sum.time.blocked_ns += time.blocked_ns;
            sum.time.waiting_ns += time.waiting_ns;
            if (frame.source != 0) sum.lines[{frame.source, frame.line}] += time.total_ns();
            sum.depth_weight += static_cast<double>(time.total_ns()) * static_cast<double>(depth);
            if (time.blocked_ns > 0) sum.reasons[reason] += time.blocked_ns;
        }
    }
    std::vector<FunctionTime> functions;
    for (auto& [label, sum] : sums) {
        sum.time.name = recording.name(label);
        const bool plumbing =
            sum.time.kernel ? is_kernel_plumbing(sum.time.name) : is_thread_start(sum.time.name);
        if (plumbing || sum.time.total_ns() == 0) continue;
        finish(recording, sum);
        functions.push_back(std::move(sum.time));
    }
    sort_functions(functions, whole_ns);
    return functions;
}

std::vector<StackTime> StackTimes::stacks(const Recording& recording) const {
    std::map<std::vector<NameId>, StackTime> merged;
    for (const auto& [stack, time] : times_) {
        std::vector<NameId> labels;
        std::size_t kernel_from = 0;
        for (const std::uint32_t place : recording.stacks[stack]) {
            labels.push_back(recording.frames[place].label);
            if (!recording.frames[place].kernel) kernel_from = labels.size();
        }
        StackTime& sum = merged[labels];
        if (sum.total_ns() == 0) {
            for (const NameId label : labels) sum.frames.push_back(recording.name(label));
            sum.kernel_from = kernel_from;
        }
        sum.on_cpu_ns += time.on_cpu_ns;
        sum.blocked_ns += time.blocked_ns;
        sum.waiting_ns += time.waiting_ns;
        if (time.blocked_ns > 0) sum.reason = reason_of_stack(recording, stack);
    }
    std::vector<StackTime> stacks;
    stacks.reserve(merged.size());
    for (auto& [labels, sum] : merged) stacks.push_back(std::move(sum));
    std::stable_sort(stacks.begin(), stacks.end(), [](const StackTime& a, const StackTime& b) {
        return a.total_ns() > b.total_ns();
    });
    return stacks;
}

}  // namespace lagtrap::analysis
