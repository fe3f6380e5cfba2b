// How long the runs of each event took, by hour, over the last days. Uses neither the kernel nor a
// clock. Times are CLOCK_REALTIME nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon {

// Number of runs by lagtrap_histogram_bucket() of their duration.
using RunHistogram = std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS>;

[[nodiscard]] std::uint64_t runs_in(const RunHistogram& histogram);
// The value plus `by`, at least 0.
[[nodiscard]] std::uint64_t moved(std::uint64_t value, std::int64_t by);
// The end of a bucket; LAGTRAP_NEVER_NS for the last one.
[[nodiscard]] std::uint64_t bucket_end_ns(std::size_t bucket);

struct BucketCount {
    std::uint32_t bucket = 0;
    std::uint64_t runs = 0;
    bool operator==(const BucketCount&) const = default;
};

// The runs that ended in one hour.
struct HourOfRuns {
    std::uint64_t hour = 0;            // since the epoch
    std::vector<BucketCount> buckets;  // those with runs, in order
    bool operator==(const HourOfRuns&) const = default;
};

struct EventRuns {
    std::string identity;        // settings::run_identity()
    std::uint64_t since_ns = 0;  // when it was first watched
    std::deque<HourOfRuns> hours;
    bool operator==(const EventRuns&) const = default;

    // Of hours that ended after `after_ns`.
    [[nodiscard]] RunHistogram sum(std::uint64_t after_ns) const;
};

// Not thread-safe.
class RunHistory {
  public:
    static constexpr std::uint64_t hour_ns = 3'600'000'000'000;
    static constexpr std::uint64_t hours_kept = 14 * 24;
    // Of all events together: limits memory and the file. The oldest hours are dropped first.
    static constexpr std::size_t buckets_kept = 400'000;
    static constexpr std::size_t events_kept = 1024;

    RunHistory() = default;
    // What an earlier daemon stored, as read_history() returns it. `now_ns`: hours after it become
    // the newest hour, because the clock was set back.
    RunHistory(std::map<std::string, EventRuns> stored, std::uint64_t now_ns);

    // `totals` are all runs of the event since the daemon started. Returns those that are new since
    // the last call. An event with another identity begins a new history.
    RunHistogram note(const std::string& event, const std::string& identity,
                      const RunHistogram& totals, std::uint64_t now_ns);
    // Drops what is too old or too much. Call it after note() for all events.
    void forget_old(std::uint64_t now_ns);
    // The clock was set, by this much.
    void move(std::int64_t by_ns);

    // nullptr if there is none.
    [[nodiscard]] const EventRuns* of(const std::string& event) const;
    [[nodiscard]] const std::map<std::string, EventRuns>& events() const { return events_; }

  private:
    std::map<std::string, EventRuns> events_;
    std::map<std::string, RunHistogram> totals_;  // at the last note()
};

}  // namespace lagtrap::daemon
