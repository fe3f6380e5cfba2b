#include "daemon/thresholds/rehearsal.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "daemon/capture/capture_limits.hpp"
#include "daemon/thresholds/threshold_policy.hpp"
#include "settings/run_identity.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = CaptureLimits::Clock;

Clock::time_point time_of(std::uint64_t at_ns) {
    return Clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(at_ns)));
}

std::uint64_t nanoseconds_of(Clock::time_point time) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

std::uint64_t runs_over(const std::vector<BucketCount>& buckets, std::uint64_t threshold_ns) {
    double over = 0;
    for (const BucketCount& count : buckets) {
        const auto begin_ns = static_cast<double>(lagtrap_histogram_bucket_start_ns(count.bucket));
        const auto end_ns = static_cast<double>(bucket_end_ns(count.bucket));
        const double share = (end_ns - static_cast<double>(threshold_ns)) / (end_ns - begin_ns);
        over += static_cast<double>(count.runs) * std::clamp(share, 0.0, 1.0);
    }
    return static_cast<std::uint64_t>(std::llround(over));
}

// The delays of an event in one hour, spread evenly.
struct HourOfDelays {
    std::uint64_t begin_ns = 0;
    std::uint64_t delays = 0;
    std::uint64_t next = 0;    // the first that is still to be judged
    std::uint64_t before = 0;  // delays of earlier hours

    [[nodiscard]] std::uint64_t at_ns(std::uint64_t delay) const {
        return begin_ns +
               static_cast<std::uint64_t>((static_cast<double>(delay) + 0.5) /
                                          static_cast<double>(delays) * RunHistory::hour_ns);
    }
    // Number of delays before this time, with those of earlier hours.
    [[nodiscard]] std::uint64_t until(std::uint64_t time_ns) const {
        return before + index_at(time_ns);
    }
    void skip_to(std::uint64_t time_ns) { next = std::max(next, index_at(time_ns)); }

  private:
    [[nodiscard]] std::uint64_t index_at(std::uint64_t time_ns) const {
        if (time_ns <= begin_ns) return 0;
        const double passed = static_cast<double>(time_ns - begin_ns) / RunHistory::hour_ns;
        auto index =
            static_cast<std::uint64_t>(std::min(passed, 1.0) * static_cast<double>(delays));
        while (index < delays && at_ns(index) < time_ns) ++index;
        return std::min(index, delays);
    }
};

class Player {
  public:
    Player(const settings::Settings& settings, const RunHistory& history) : settings_(settings) {
        std::set<std::string> names;
        for (const settings::Event& event : settings.events) {
            names.insert(event.name);
            const EventRuns* runs = history.of(event.name);
            const bool known =
                runs && !runs->hours.empty() && runs->identity == settings::run_identity(event);
            RehearsedEvent rehearsed;
            rehearsed.name = event.name;
            rehearsed.known = known;
            rehearsed.follows_runs = event.threshold_rule.has_value();
            rehearsed.threshold_ns = static_cast<std::uint64_t>(event.threshold.count());
            result_.events.push_back(rehearsed);
            events_.push_back(
                {known ? runs : nullptr, {"", known ? runs->since_ns : 0, {}}, {}, {}, {}});
        }
        limits_.allow(settings.recording.captures_per_hour, settings.recording.cool_down,
                      std::move(names));
        find_hours(history);
    }

    Rehearsal play() {
        for (std::uint64_t i = 0; i < result_.hours; ++i) play_hour(result_.first_hour + i);
        return std::move(result_);
    }

  private:
    struct Played {
        const EventRuns* runs;  // nullptr if unknown
        EventRuns past;         // hours before the current one
        ThresholdState state;
        RunHistogram added;  // in the last hour
        HourOfDelays delays;
    };

    // Both settings of a comparison are played over the same hours.
    void find_hours(const RunHistory& history) {
        std::uint64_t first = ~0ULL, last = 0;
        for (const auto& [name, event] : history.events()) {
            if (event.hours.empty()) continue;
            first = std::min(first, event.hours.front().hour);
            last = std::max(last, event.hours.back().hour);
        }
        if (first > last) return;
        result_.first_hour = first;
        result_.hours = last - first + 1;
    }

    void play_hour(std::uint64_t hour) {
        for (std::size_t number = 0; number < events_.size(); ++number) begin_hour(number, hour);
        closed_.reset();
        while (const auto number = first_delay()) judge(*number);
        for (Played& played : events_) played.delays.before += played.delays.delays;
    }

    void begin_hour(std::size_t number, std::uint64_t hour) {
        Played& played = events_[number];
        RehearsedEvent& result = result_.events[number];
        const std::uint64_t begin_ns = hour * RunHistory::hour_ns;
        if (played.runs && settings_.events[number].threshold_rule)
            result.threshold_ns = decide(number, begin_ns, played.added).threshold_ns;
        played.added = {};
        played.delays = {begin_ns, 0, 0, played.delays.before};
        if (!played.runs) return;
        const auto found = std::ranges::find(played.runs->hours, hour, &HourOfRuns::hour);
        if (found == played.runs->hours.end()) return;
        for (const BucketCount& count : found->buckets) {
            played.added[count.bucket] = count.runs;
            result.runs += count.runs;
        }
        played.past.hours.push_back(*found);
        played.delays.delays = runs_over(found->buckets, result.threshold_ns);
        result.delays += played.delays.delays;
    }

    ThresholdDecision decide(std::size_t number, std::uint64_t now_ns, const RunHistogram& added) {
        Played& played = events_[number];
        const ThresholdPolicy policy(*settings_.events[number].threshold_rule,
                                     settings_.auto_threshold);
        return policy.decide(played.state, played.past, added, now_ns);
    }

    [[nodiscard]] std::optional<std::size_t> first_delay() const {
        std::optional<std::size_t> first;
        std::uint64_t first_ns = 0;
        for (std::size_t number = 0; number < events_.size(); ++number) {
            const HourOfDelays& delays = events_[number].delays;
            if (delays.next >= delays.delays) continue;
            const std::uint64_t at_ns = delays.at_ns(delays.next);
            if (first && at_ns >= first_ns) continue;
            first = number;
            first_ns = at_ns;
        }
        return first;
    }

    [[nodiscard]] CaptureLimits::Delays delays_until(std::uint64_t time_ns) const {
        CaptureLimits::Delays delays;
        for (std::size_t number = 0; number < events_.size(); ++number)
            delays[settings_.events[number].name] = events_[number].delays.until(time_ns);
        return delays;
    }

    // Decides whether the next delay of the event begins a recording.
    void judge(std::size_t number) {
        HourOfDelays& delays = events_[number].delays;
        const std::uint64_t at_ns = delays.at_ns(delays.next);
        if (at_ns < recording_until_ns_) return delays.skip_to(recording_until_ns_);
        if (!closed_ || at_ns >= closed_until_ns_) {
            closed_ = limits_.closed(delays_until(at_ns), time_of(at_ns));
            closed_until_ns_ = ~0ULL;
            for (const auto& [name, closed] : *closed_)
                closed_until_ns_ = std::min(closed_until_ns_, nanoseconds_of(closed.until));
        }
        const auto closed = closed_->find(settings_.events[number].name);
        if (closed == closed_->end()) return record(number, at_ns);
        delays.skip_to(std::max(nanoseconds_of(closed->second.until), at_ns + 1));
    }

    void record(std::size_t number, std::uint64_t at_ns) {
        const settings::Event& event = settings_.events[number];
        recording_until_ns_ = at_ns + static_cast<std::uint64_t>(event.trace_length.count());
        limits_.begin(event.name, std::nullopt, delays_until(at_ns), time_of(at_ns));
        limits_.end(event.name, delays_until(recording_until_ns_), time_of(recording_until_ns_));
        closed_.reset();
        ++result_.recordings;
        ++result_.events[number].recordings;
        ++events_[number].delays.next;
        if (!event.threshold_rule) return;
        ThresholdPolicy::note_capture(events_[number].state, at_ns);
        if (const auto until_ns = decide(number, at_ns, {}).closed_until_ns) {
            held_[event.name] = time_of(*until_ns);
            limits_.hold(held_);
        }
    }

    const settings::Settings& settings_;
    CaptureLimits limits_;
    std::vector<Played> events_;
    Rehearsal result_;
    std::uint64_t recording_until_ns_ = 0;
    std::map<std::string, Clock::time_point> held_;
    // valid until closed_until_ns_
    std::optional<std::map<std::string, CaptureLimits::Closed>> closed_;
    std::uint64_t closed_until_ns_ = 0;
};

}  // namespace

Rehearsal rehearse(const settings::Settings& settings, const RunHistory& history) {
    return Player(settings, history).play();
}

}  // namespace lagtrap::daemon
