#include "daemon/thresholds/threshold_watch.hpp"

#include <chrono>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::daemon {

ThresholdWatch::ThresholdWatch(CaptureController& controller, const std::filesystem::path& file,
                               Say inform, Say warn)
    : controller_(controller),
      inform_(std::move(inform)),
      warn_(std::move(warn)),
      keeper_(file, warn_, ClockSnapshot::take()) {}

void ThresholdWatch::use(const settings::Settings& settings) {
    keeper_.use(settings);
    look();
}

void ThresholdWatch::look() {
    const auto now = ClockSnapshot::take();
    if (!controller_.busy()) {
        ThresholdKeeper::Totals totals;
        for (const auto& [name, counters] : controller_.monitor().all_counters())
            totals[name] = counters.histogram;
        keeper_.look(totals, now);
        set_thresholds();
        hold_events();
    }
    keeper_.save(now);
}

void ThresholdWatch::set_thresholds() {
    EventMonitor& monitor = controller_.monitor();
    const auto longest_ns = static_cast<std::uint64_t>(settings::max_threshold.count());
    for (const auto& [event, decision] : keeper_.decisions()) {
        const std::uint64_t before_ns = monitor.thresholds()->of_ns(event);
        if (decision.threshold_ns == before_ns) continue;
        const std::string& name = keeper_.events()[event].name;
        const std::chrono::nanoseconds threshold(static_cast<std::int64_t>(decision.threshold_ns));
        if (const Status set = monitor.set_threshold(event, threshold); !set)
            warn_(fmt::format("the threshold of event {} cannot be changed: {}", name,
                              set.error().message));
        else if (before_ns == longest_ns)
            inform_(
                fmt::format("event {} has a threshold now: {}", name, format_duration(threshold)));
    }
}

// Events that used their recordings of the day start none.
void ThresholdWatch::hold_events() {
    std::map<std::string, std::chrono::steady_clock::time_point> until;
    std::set<std::string> names;
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    for (const auto& [event, decision] : keeper_.decisions()) {
        if (!decision.closed_until_ns || *decision.closed_until_ns <= now_ns) continue;
        const std::string& name = keeper_.events()[event].name;
        names.insert(name);
        until[name] = std::chrono::steady_clock::now() +
                      std::chrono::nanoseconds(*decision.closed_until_ns - now_ns);
        if (!held_.contains(name))
            warn_(fmt::format("event {} used its {} captures per day; none for {}", name,
                              keeper_.limits().captures_per_day,
                              format_duration_ns(*decision.closed_until_ns - now_ns)));
    }
    if (std::exchange(held_, names) != names) controller_.hold_events(std::move(until));
}

void ThresholdWatch::note_capture(std::uint32_t event) {
    keeper_.note_capture(event, ClockSnapshot::take().realtime_ns);
    hold_events();
}

void ThresholdWatch::finish() {
    look();
    keeper_.finish();
}

}  // namespace lagtrap::daemon
