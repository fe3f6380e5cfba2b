// The configuration of the event monitor's programs, from the settings and plans. Uses no kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/events/event_plan.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// True if markers of the event have values that the programs read.
[[nodiscard]] bool wants_arguments(const settings::Event& event);

// Which programs and maps the events need. Loading others takes time and memory.
struct MonitorNeeds {
    bool functions = false;  // programs at functions
    bool sites = false;      // at USDT probes and calls of the library
    bool arguments = false;  // their arguments
    bool tracepoints = false;
    bool run_queue = false;
    bool times = false;         // the time of threads
    bool runs = false;          // reports of runs
    bool stacks = false;        // at their markers
    bool argument_map = false;  // arguments of any marker
    bool groups = false;        // control groups in scopes
    bool exits = false;         // returns of functions
};
// `times_wanted`: the settings want the time of runs broken down.
[[nodiscard]] MonitorNeeds monitor_needs(const std::vector<settings::Event>& events,
                                         bool times_wanted);

// All markers, by their numbers: of each event the end, stages, the begin, other ends.
[[nodiscard]] std::vector<const settings::Marker*> markers_of(
    const std::vector<settings::Event>& events);

// The number of a marker. An event keeps its numbers, however often it is attached.
[[nodiscard]] std::uint32_t marker_number_of(const std::vector<settings::Event>& events,
                                             std::uint32_t event, const MarkerPlan& plan);

// The events whose runs are waits for a CPU, as numbers from 1; 0 for the rest of the list.
[[nodiscard]] std::vector<std::uint32_t> run_queue_events(
    const std::vector<settings::Event>& events);

[[nodiscard]] lagtrap_event_config event_config(const settings::Event& event, bool counts_times);
// Minimum time between reported runs, for this many per second.
[[nodiscard]] std::uint64_t run_interval_ns(std::uint32_t limit_per_second);
// `event` is the number of `of`.
[[nodiscard]] lagtrap_marker_config marker_config(std::uint32_t event, const settings::Event& of,
                                                  const MarkerPlan& plan);
// Changes the parts that depend on the plan.
void configure_for_plan(lagtrap_event_config& config, const EventPlan& plan, bool stages_wanted);
// Whether hits are handled, or only counted.
void let_hits_count(lagtrap_event_config& config, bool wanted);
// The age at which a run is checked: `age_ns`, or at its deadline if that is sooner.
[[nodiscard]] std::uint64_t look_after_ns(settings::BreachMode breach, std::uint64_t threshold_ns,
                                          std::uint64_t age_ns);

}  // namespace lagtrap::daemon
