// What the programs count for each event.
#pragma once

#include <array>
#include <cstdint>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon {

// Counters of one event, summed over all CPUs. The fields have the order of lagtrap_event_counters.
struct EventCounters {
    std::uint64_t delays = 0, reported_delays = 0;
    std::uint64_t abandoned = 0, left = 0, failed = 0, cancelled = 0, lost = 0, expired = 0,
                  unended_late = 0, withdrawn = 0, too_deep = 0, records_lost = 0;
    std::uint64_t out_of_scope = 0, limited = 0, unrecorded = 0, counted = 0, texts_lost = 0;
    lagtrap_seen_parties seen{};  // no counters
    std::uint64_t timed_ns = 0, on_cpu_ns = 0, runnable_ns = 0, handed_over_ns = 0, untimed = 0;
    std::array<std::uint64_t, LAGTRAP_DELAY_PARTS> delays_mostly{};
    std::uint64_t stack_ns = 0;
    std::uint64_t max_ns = 0;
    std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS> histogram{};
    std::array<std::uint64_t, LAGTRAP_COST_BUCKETS> costs{};
    std::array<lagtrap_marker_count, LAGTRAP_PLACES> markers{};

    void add(const EventCounters& other);
    // Runs begun and ended.
    [[nodiscard]] std::uint64_t runs() const;
    // Of all markers.
    [[nodiscard]] std::uint64_t hits() const;
    [[nodiscard]] const lagtrap_marker_count& begins() const {
        return markers[LAGTRAP_PLACE_BEGIN];
    }
    [[nodiscard]] const lagtrap_marker_count& ends() const { return markers[LAGTRAP_PLACE_END]; }
    [[nodiscard]] std::uint64_t unmatched_stages() const;
};

// Reports of runs of an event with record="runs".
struct RunCounters {
    std::uint64_t reported = 0;
    std::uint64_t sampled_away = 0;  // other runs represent them
    std::uint64_t ring_full = 0;     // the same, because the ring was full
    std::uint64_t stacks_lost = 0;

    void add(const RunCounters& other);
};

}  // namespace lagtrap::daemon
