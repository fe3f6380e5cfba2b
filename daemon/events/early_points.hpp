// Decides when to record before a breach: the age from which a run of an event is unusual enough.
// Uses neither the kernel nor a clock.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon {

// Chooses the early point of each event from the durations of its recent runs. It is the smallest
// age at which recording all longer runs stays within the given share of the time, for all events
// together.
class EarlyPoints {
  public:
    using Histogram = std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS>;
    // Cost of a recording besides the run itself: switching it on and off, and noticing that the
    // run has ended.
    static constexpr std::chrono::milliseconds time_around{10};
    static constexpr std::chrono::milliseconds least{2};
    static constexpr std::chrono::minutes half_life{1};  // for learned durations

    // `thresholds` are by event; `share_ppm` is in millionths. With a share of 0, no event has a
    // point.
    EarlyPoints(std::vector<std::chrono::nanoseconds> thresholds, std::uint64_t share_ppm);

    // Takes effect at the next choose(). 0: the event has no point.
    void set_threshold(std::size_t event, std::uint64_t threshold_ns) {
        thresholds_ns_[event] = threshold_ns;
    }
    // Learns from the histogram of an event since it was first watched. Call it every few seconds.
    void learn(std::size_t event, const Histogram& counted, std::uint64_t now_ns);
    // Chooses new points. Before anything was learned, each point is the smallest allowed.
    void choose();

    // Age in nanoseconds, by event. LAGTRAP_NEVER_NS if the threshold is too short, or too many
    // runs come close to it.
    [[nodiscard]] const std::vector<std::uint64_t>& points_ns() const { return points_ns_; }

  private:
    struct Learned {
        Histogram before{};
        std::array<double, LAGTRAP_HISTOGRAM_BUCKETS> runs{};
        double time_ns = 0;
        std::uint64_t at_ns = 0;  // 0 if nothing was learned yet
    };

    [[nodiscard]] std::uint64_t least_of(std::size_t event) const;
    [[nodiscard]] double share_at(std::size_t event, std::uint64_t point_ns) const;
    [[nodiscard]] std::uint64_t smallest_within(std::size_t event, double share) const;

    std::vector<std::uint64_t> thresholds_ns_;
    double share_;
    std::vector<Learned> learned_;
    std::vector<std::uint64_t> points_ns_;
};

// Keeps early recordings within their share of the time even if the points are wrong. Unused time
// is saved up to a limit.
class EarlyBudget {
  public:
    // The budget starts with enough for a recording of length `longest`.
    EarlyBudget(std::uint64_t share_ppm, std::chrono::nanoseconds longest);

    // Changes the longest recording for which time is saved.
    void set_longest(std::chrono::nanoseconds longest);
    // True if a recording may begin.
    [[nodiscard]] bool has_room(std::uint64_t now_ns);
    // Charges for a recording.
    void pay(std::uint64_t took_ns) { saved_ns_ -= static_cast<double>(took_ns); }

  private:
    double share_;
    double max_ns_;
    double saved_ns_;
    std::uint64_t looked_ns_ = 0;
};

// Early recordings since the settings came into force.
struct EarlyCounts {
    std::uint64_t begun = 0;
    std::uint64_t kept = 0;       // a breach followed
    std::uint64_t dropped = 0;    // the runs ended within their threshold
    std::uint64_t outgrown = 0;   // part of `dropped`: needed more memory than allowed
    std::uint64_t held_back = 0;  // not begun because the share was used up
    std::uint64_t time_ns = 0;    // total time
    std::uint64_t since_ns = 0;   // CLOCK_MONOTONIC; 0 if early recordings are off
};

}  // namespace lagtrap::daemon
