// When a recording begins before a breach: from which age on a run of an event is so unusual that it is worth it. Only
// decides: no kernel, no clock of its own.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/listener.h"

namespace lagtrap::daemon {

// Chooses the early point of each event by the durations that its runs have had lately: the smallest age that so few runs
// reach that recording them takes no more than the share of the time, all events together.
class EarlyPoints {
  public:
    using Histogram = std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS>;
    // What a recording takes beside the time of the run: to be switched on and off, and to notice that the run has ended.
    static constexpr std::chrono::milliseconds time_around{10};
    static constexpr std::chrono::milliseconds least{2};
    static constexpr std::chrono::minutes half_life{1};  // of what was learned

    // `thresholds` by event. With a share of 0, in millionths, no event has a point.
    EarlyPoints(std::vector<std::chrono::nanoseconds> thresholds, std::uint64_t share_ppm);

    // What was counted of an event since it is watched, every few seconds.
    void learn(std::size_t event, const Histogram& counted, std::uint64_t now_ns);
    // Chooses anew. Before anything was learned each point is the smallest that may be.
    void choose();

    // Age in nanoseconds; LAGTRAP_NEVER_NS: none, as the threshold is too short, or too many runs come near it.
    [[nodiscard]] const std::vector<std::uint64_t>& points_ns() const { return points_ns_; }

  private:
    struct Learned {
        Histogram before{};
        std::array<double, LAGTRAP_HISTOGRAM_BUCKETS> runs{};
        double time_ns = 0;
        std::uint64_t at_ns = 0;  // 0: nothing yet
    };

    [[nodiscard]] std::uint64_t least_of(std::size_t event) const;
    [[nodiscard]] double share_at(std::size_t event, std::uint64_t point_ns) const;
    [[nodiscard]] std::uint64_t smallest_within(std::size_t event, double share) const;

    std::vector<std::uint64_t> thresholds_ns_;
    double share_;
    std::vector<Learned> learned_;
    std::vector<std::uint64_t> points_ns_;
};

// Keeps early recordings within their share of the time, whatever was learned: what is not used is saved up, to a limit.
class EarlyBudget {
  public:
    // `longest`: a recording of this length is paid for at the start.
    EarlyBudget(std::uint64_t share_ppm, std::chrono::nanoseconds longest);

    // Whether one may begin.
    [[nodiscard]] bool has_room(std::uint64_t now_ns);
    // One took so long.
    void pay(std::uint64_t took_ns) { saved_ns_ -= static_cast<double>(took_ns); }

  private:
    double share_;
    double most_ns_;
    double saved_ns_;
    std::uint64_t looked_ns_ = 0;
};

// Early recordings since the daemon took its settings into use.
struct EarlyCounts {
    std::uint64_t begun = 0;
    std::uint64_t kept = 0;       // there was a breach
    std::uint64_t dropped = 0;    // the runs ended before their threshold
    std::uint64_t outgrown = 0;   // of those dropped, the ones that needed more memory than there is
    std::uint64_t held_back = 0;  // not begun, as the share of the time was used up
    std::uint64_t time_ns = 0;    // that they took
    std::uint64_t since_ns = 0;   // CLOCK_MONOTONIC; 0: there are none
};

}  // namespace lagtrap::daemon
