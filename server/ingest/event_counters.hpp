// Counts incoming runs for Prometheus. Each server counts separately, from its start.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "server/store/sight.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

// Further events are counted together under an empty name, and further units of an event under
// "other". Anybody who uploads chooses the names, so the number of labels must be bounded.
inline constexpr std::size_t counted_events_limit = 200;
inline constexpr std::size_t counted_units_limit = 20;  // per event, first come first served
// For all events together. Beyond it each event gets only "other", so there are at most 700
// histograms.
inline constexpr std::size_t counted_pairs_limit = 500;

// Counts runs, delays and durations by event and unit. Any thread.
class EventCounters {
  public:
    // Adds the runs of a batch that was stored for the first time, weighted. Skips runs that the
    // machine marked as dirty.
    void add(const trace::RunBatch& batch);
    // In Prometheus' text format: a duration histogram and a delay counter for each event and unit.
    // Limited to what `sight` shows (nullptr: all); counts that may include hidden units are
    // omitted.
    [[nodiscard]] std::string text(const Sight* sight = nullptr) const;

  private:
    // 100 us, 250 us, 500 us, 1 ms ... 50 s; runs above have their own
    static constexpr std::size_t bucket_count = 18;
    struct Counts {
        std::array<std::uint64_t, bucket_count + 1> buckets{};
        double sum_s = 0;
        std::uint64_t runs = 0, delays = 0;
    };
    static std::uint64_t bound_ns(std::size_t bucket);
    // The counts of this event and unit, or the shared ones if a limit is reached.
    Counts& counts_of(const std::string& event, const std::string& unit);
    // Calls `visit` with the labels and counts of each visible pair.
    template <typename Visit>
    void for_each(const Sight* sight, const Visit& visit) const;

    mutable std::mutex mutex_;  // guards the members below
    // by event and by unit or container; empty: unknown
    std::map<std::string, std::map<std::string, Counts>> events_;
    // in all events, without those of "other"
    std::size_t pairs_ = 0;
};

// Escapes a label's value for the text format.
[[nodiscard]] std::string label_value(std::string_view text);

}  // namespace lagtrap::server
