#include "daemon/thresholds/rehearsal_text.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::daemon {
namespace {

const RehearsedEvent* event_in(const Rehearsal& rehearsal, const std::string& name) {
    const auto found = std::ranges::find(rehearsal.events, name, &RehearsedEvent::name);
    return found == rehearsal.events.end() ? nullptr : &*found;
}

bool is_learning(const RehearsedEvent& event) {
    return event.follows_runs &&
           event.threshold_ns >= static_cast<std::uint64_t>(settings::max_threshold.count());
}

std::string threshold_text(const RehearsedEvent& event) {
    return is_learning(event) ? "learning" : format_duration_ns(event.threshold_ns);
}

// "2026-11-29 00:00"
std::string hour_text(std::uint64_t hour) {
    std::string text = format_utc(hour * RunHistory::hour_ns).substr(0, 16);
    text[10] = ' ';
    return text;
}

std::string cells(const RehearsedEvent* event) {
    if (!event) return fmt::format("{:>10} {:>9} {:>10}", "-", "-", "-");
    if (!event->known) return fmt::format("{:>10} {:>9} {:>10}", threshold_text(*event), "?", "?");
    return fmt::format("{:>10} {:>9} {:>10}", threshold_text(*event), event->delays,
                       event->recordings);
}

boost::json::object event_json(const RehearsedEvent& event) {
    return {{"name", event.name},
            {"known", event.known},
            {"threshold_ns", event.threshold_ns},
            {"learning", is_learning(event)},
            {"runs", event.runs},
            {"delays", event.delays},
            {"recordings", event.recordings}};
}

boost::json::object side_json(const Rehearsal& rehearsal) {
    boost::json::array events;
    for (const RehearsedEvent& event : rehearsal.events) events.push_back(event_json(event));
    return {{"events", std::move(events)}, {"recordings", rehearsal.recordings}};
}

}  // namespace

std::string rehearsal_text(const Rehearsal& next, const Rehearsal& current) {
    if (next.hours == 0)
        return "There is no history yet: lagtrapd keeps the runs of its events by hour.\n";
    std::size_t width = 5;
    for (const RehearsedEvent& event : next.events) width = std::max(width, event.name.size());
    std::string text = fmt::format(
        "Runs of {} hours, {} to {} UTC, as if the settings had been in force.\n"
        "Delays are assumed to be spread evenly over each hour.\n\n",
        next.hours, hour_text(next.first_hour), hour_text(next.first_hour + next.hours));
    text += fmt::format("{:{}} {:>10}  {:<31}   {}\n", "", width, "", "these settings",
                        "settings in use");
    text += fmt::format("{0:{1}} {2:>10} {3:>10} {4:>9} {5:>10}   {3:>10} {4:>9} {5:>10}\n",
                        "event", width, "runs", "threshold", "delays", "recordings");
    bool unknown = false;
    for (const RehearsedEvent& event : next.events) {
        unknown = unknown || !event.known;
        text += fmt::format("{:{}} {:>10} {}   {}\n", event.name, width,
                            event.known ? fmt::format("{}", event.runs) : "no history",
                            cells(&event), cells(event_in(current, event.name)));
    }
    text += fmt::format("{:{}} {:>10} {:>10} {:>9} {:>10}   {:>10} {:>9} {:>10}\n", "all", width,
                        "", "", "", next.recordings, "", "", current.recordings);
    if (unknown)
        text +=
            "\nEvents without history are new, or their markers, key, nesting or scope changed.\n";
    return text;
}

boost::json::object rehearsal_json(const Rehearsal& next, const Rehearsal& current) {
    return {{"first_hour_realtime_ns", next.first_hour * RunHistory::hour_ns},
            {"hours", next.hours},
            {"new", side_json(next)},
            {"in_use", side_json(current)}};
}

}  // namespace lagtrap::daemon
