#include "server/reports/time_shift.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/before_recording.hpp"

namespace lagtrap::server::reports {
namespace {

using PartName = std::pair<std::string, std::string>;  // state, reason

// Sums can include large weights and exceed 64 bits, so they are floating point.
class Mean {
  public:
    void add(const TimedDuration& run) {
        const auto weight = static_cast<double>(run.weight);
        if (group_.runs == 0) group_.shortest_ns = run.duration_ns;
        group_.runs += run.weight;
        group_.longest_ns = run.duration_ns;
        whole_ += weight * static_cast<double>(run.duration_ns);
        each_part(run,
                  [&](const std::string& state, const std::string& reason, std::uint64_t time_ns) {
                      sums_[{state, reason}] += weight * static_cast<double>(time_ns);
                  });
    }

    [[nodiscard]] DurationGroup group() const {
        DurationGroup group = group_;
        group.mean_ns = mean_of(whole_);
        return group;
    }

    [[nodiscard]] std::map<PartName, std::uint64_t> parts() const {
        std::map<PartName, std::uint64_t> means;
        for (const auto& [name, sum] : sums_) means[name] = mean_of(sum);
        return means;
    }

  private:
    [[nodiscard]] std::uint64_t mean_of(double sum) const {
        return static_cast<std::uint64_t>(
            std::llround(sum / static_cast<double>(std::max<std::uint64_t>(group_.runs, 1))));
    }

    DurationGroup group_;
    double whole_ = 0;
    std::map<PartName, double> sums_;
};

}  // namespace

void each_part(const TimedDuration& run,
               const std::function<void(const std::string& state, const std::string& reason,
                                        std::uint64_t time_ns)>& take) {
    const trace::TimeParts& parts = run.times.parts;
    const auto give = [&](const char* state, std::string_view reason, std::uint64_t time_ns) {
        if (time_ns > 0) take(state, std::string(reason), time_ns);
    };
    give("on CPU", "", parts.on_cpu_ns);
    give("runnable", "", parts.runnable_ns - parts.throttled_ns);
    give("runnable", "CPU quota", parts.throttled_ns);
    for (std::uint32_t i = 0; i < parts.blocked_ns.size(); ++i)
        give("blocked", analysis::reason_of_class(i), parts.blocked_ns[i]);
    give("handed over", "", run.times.handed_over_ns);
    const std::uint64_t known_ns = parts.total_ns() + run.times.handed_over_ns;
    give("unknown", "", run.duration_ns - std::min(known_ns, run.duration_ns));
}

std::optional<TimeShift> time_shift(std::vector<TimedDuration> runs) {
    std::uint64_t all = 0;
    for (const TimedDuration& run : runs) all += run.weight;
    if (all < shift_runs_needed) return std::nullopt;
    std::sort(runs.begin(), runs.end(), [](const TimedDuration& a, const TimedDuration& b) {
        return a.duration_ns < b.duration_ns;
    });
    Mean middle, slow;
    std::uint64_t passed = 0;
    for (const TimedDuration& run : runs) {
        // A record's position is the middle of the runs it stands for.
        const double place =
            (static_cast<double>(passed) + run.weight / 2.0) / static_cast<double>(all);
        passed += run.weight;
        if (place >= 0.4 && place <= 0.6) middle.add(run);
        if (place >= 0.99 || &run == &runs.back()) slow.add(run);
    }
    TimeShift shift{middle.group(), slow.group(), {}};
    if (shift.middle.runs == 0) return std::nullopt;  // one record stands for nearly all
    std::map<PartName, PartShift> parts;
    for (const auto& [name, mean_ns] : middle.parts()) parts[name].middle_ns = mean_ns;
    for (const auto& [name, mean_ns] : slow.parts()) parts[name].slow_ns = mean_ns;
    for (auto& [name, part] : parts) {
        std::tie(part.state, part.reason) = name;
        shift.parts.push_back(std::move(part));
    }
    const auto size = [](const PartShift& part) {
        return part.slow_ns > part.middle_ns ? part.slow_ns - part.middle_ns
                                             : part.middle_ns - part.slow_ns;
    };
    std::stable_sort(shift.parts.begin(), shift.parts.end(),
                     [&](const PartShift& a, const PartShift& b) { return size(a) > size(b); });
    return shift;
}

}  // namespace lagtrap::server::reports
