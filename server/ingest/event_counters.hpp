// Runs as they came in, counted for Prometheus: since the server started, each copy for itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "server/store/sight.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

// Beyond these, events are counted together, under an empty name, and the units of an event under "other": a label for
// each name that anybody may send would be without bounds.
inline constexpr std::size_t counted_events_limit = 200;
inline constexpr std::size_t counted_units_limit = 20;  // of one event, those that come first
// Of all events together. Beyond, each event has one more for its further units, so at most 700 histograms there are.
inline constexpr std::size_t counted_pairs_limit = 500;

// Any thread.
class EventCounters {
  public:
    // Those of a batch that was stored for the first time; weighted. Runs that the machine said are dirty are left out.
    void add(const trace::RunBatch& batch);
    // In Prometheus' text format: a histogram of durations and a counter of delays for each event and unit.
    // Those that `sight` (may be nullptr: all) leaves out, and those that may be among others, are not told.
    [[nodiscard]] std::string text(const Sight* sight = nullptr) const;

  private:
    static constexpr std::size_t bucket_count = 18;  // 100 us, 250 us, 500 us, 1 ms ... 50 s; and one for all beyond
    struct Counts {
        std::array<std::uint64_t, bucket_count + 1> buckets{};
        double sum_s = 0;
        std::uint64_t runs = 0, delays = 0;
    };
    static std::uint64_t bound_ns(std::size_t bucket);
    // Of this event and unit, or of those that are counted together with them.
    Counts& counts_of(const std::string& event, const std::string& unit);
    // Calls `visit` with the labels of each that is seen.
    template <typename Visit>
    void for_each(const Sight* sight, const Visit& visit) const;

    mutable std::mutex mutex_;                                     // guards the rest
    std::map<std::string, std::map<std::string, Counts>> events_;  // by unit, or container; empty: not known
    std::size_t pairs_ = 0;                                        // in all of them, without those of further units
};

// A label's value between quotes, as the text format wants it.
[[nodiscard]] std::string label_value(std::string_view text);

}  // namespace lagtrap::server
