#include "daemon/thresholds/threshold_watch.hpp"

#include <chrono>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::daemon {

ThresholdWatch::ThresholdWatch(CaptureController& controller, const std::filesystem::path& file,
                               Log log)
    : controller_(controller), log_(std::move(log)), keeper_(file, log_, ClockSnapshot::take()) {}

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
    for (const ThresholdChange& change :
         threshold_changes(keeper_.decisions(), *monitor.thresholds())) {
        const std::string& name = keeper_.events()[change.event].name;
        if (const Status set = monitor.set_threshold(change.event, change.threshold); !set)
            log_.warn(fmt::format("the threshold of event {} cannot be changed: {}", name,
                                  set.error().message));
        else if (change.is_first)
            log_.inform(fmt::format("event {} has a threshold now: {}", name,
                                    format_duration(change.threshold)));
    }
}

void ThresholdWatch::hold_events() {
    const HeldEvents::Held held =
        held_.look(keeper_.decisions(), keeper_.events(), ClockSnapshot::take().realtime_ns);
    for (const std::string& name : held.news)
        log_.warn(fmt::format("event {} used its {} captures per day; none for {}", name,
                              keeper_.limits().captures_per_day,
                              format_duration_ns(held.left_ns.at(name))));
    if (!held.has_changed) return;
    std::map<std::string, std::chrono::steady_clock::time_point> until;
    for (const auto& [name, left_ns] : held.left_ns)
        until[name] = std::chrono::steady_clock::now() + std::chrono::nanoseconds(left_ns);
    controller_.hold_events(std::move(until));
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
