// Decides the threshold of an event whose settings say threshold="auto" or "p99.9 x 3". Uses
// neither the kernel nor a clock. Times are CLOCK_REALTIME nanoseconds.
//
// The base is the percentile of the event's runs of the last days, times the factor; at least the
// floor, and at least so long that captures_per_day of these runs exceeded it per day. It changes
// once an hour, at most by a factor of 2. When half of the captures of a day are used, each delay
// raises the threshold, at most to the longest run and by a factor of 2; after a quiet time it is
// halved, down to the base. At most captures_per_day recordings begin in any 24 hours.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "daemon/thresholds/run_history.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What a restart keeps.
struct ThresholdState {
    std::string rule;             // that base_ns is for, as text
    std::uint64_t base_ns = 0;    // 0: not enough runs yet
    std::uint64_t base_hour = 0;  // when it was chosen, in hours since the epoch
    std::uint64_t raised_ns = 0;  // 0: not raised
    // when it was last raised or halved, or there was a delay
    std::uint64_t raised_at_ns = 0;
    std::deque<std::uint64_t> captures_ns;  // begun in the last day, oldest first
    bool operator==(const ThresholdState&) const = default;

    // The clock was set, by this much.
    void move(std::int64_t by_ns);
};

// Why the threshold has its value.
enum class ThresholdReason {
    Learning,     // too few runs, or not watched long enough: the threshold is the longest
    Percentile,   // the percentile times the factor
    CaptureRate,  // a smaller one would be exceeded more often than captures_per_day
    Floor,
    Longest,  // settings::max_threshold
    Step,     // on its way to the target
    Raised,   // by delays
};

struct ThresholdDecision {
    std::uint64_t threshold_ns = 0;
    ThresholdReason reason = ThresholdReason::Learning;
    std::uint64_t runs = 0;  // in the window
    // how long the event was watched, at most ThresholdPolicy::window_ns
    std::uint64_t window_ns = 0;
    std::uint64_t percentile_ns = 0;               // 0 without runs
    std::uint64_t target_ns = 0;                   // what the base moves to; 0 while learning
    std::uint64_t base_ns = 0;                     // 0 while learning
    std::uint64_t captures = 0;                    // in the last day
    std::optional<std::uint64_t> closed_until_ns;  // until then, no delay begins a recording
};

class ThresholdPolicy {
  public:
    static constexpr std::uint64_t window_ns = 7 * 24 * RunHistory::hour_ns;
    static constexpr std::uint64_t day_ns = 24 * RunHistory::hour_ns;

    ThresholdPolicy(const settings::ThresholdRule& rule, const settings::AutoThreshold& limits);

    // `added` are the runs since the last call, which are part of `runs`. Changes `state`.
    [[nodiscard]] ThresholdDecision decide(ThresholdState& state, const EventRuns& runs,
                                           const RunHistogram& added, std::uint64_t now_ns) const;
    // A delay of the event begins a recording.
    static void note_capture(ThresholdState& state, std::uint64_t now_ns) {
        state.captures_ns.push_back(now_ns);
    }

  private:
    struct Target {
        std::uint64_t ns;
        ThresholdReason reason;
    };
    [[nodiscard]] Target target_of(const RunHistogram& runs, const ThresholdDecision& facts) const;
    [[nodiscard]] std::uint64_t rarely_exceeded_ns(const RunHistogram& runs,
                                                   std::uint64_t watched_ns) const;
    void move_base(ThresholdState& state, std::uint64_t target_ns, std::uint64_t hour) const;
    void raise(ThresholdState& state, const RunHistogram& added, std::uint64_t threshold_ns,
               std::uint64_t now_ns) const;
    void relax(ThresholdState& state, std::uint64_t now_ns) const;
    [[nodiscard]] std::uint64_t limited(std::uint64_t threshold_ns) const;

    settings::ThresholdRule rule_;
    settings::AutoThreshold limits_;
    std::string rule_text_;
    std::uint64_t floor_ns_;
};

// The duration that this share of the runs does not exceed, in millionths. 0 without runs.
[[nodiscard]] std::uint64_t percentile_of(const RunHistogram& runs, std::uint32_t share_ppm);

}  // namespace lagtrap::daemon
