// Roll-ups: the number of runs and the distribution of their durations for each event, build, kind
// of start and hour, and the same for each day, with hidden runs and outliers separate. Updated in
// the transaction that changes the runs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "server/sketch/sketch.hpp"
#include "server/store/database.hpp"

namespace lagtrap::server {

inline constexpr std::uint64_t hours_a_day = 24;

enum class RollupLevel : std::uint8_t { Hour = 0, Day = 1 };

struct RollupKey {
    std::uint32_t event;
    RollupLevel level;
    std::uint64_t bucket;  // hours or days since 1970
    std::uint32_t build;
    std::uint8_t start;
    RunMark mark;

    auto operator<=>(const RollupKey&) const =
        default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// Changes gathered for one transaction.
class RollupChange {
  public:
    void add(const RunRecord& run) { change(run, true); }
    void remove(const RunRecord& run) { change(run, false); }
    // The runs must have been changed already. Locks rows in the order of their keys, so that two
    // servers cannot deadlock.
    [[nodiscard]] Status apply(Connection& connection, const Dialect& dialect) const;

  private:
    struct Part {
        std::int64_t records = 0, runs = 0, delays = 0;
        std::uint64_t longest_ns = 0, last_ns = 0;
        Sketch durations, delay_durations;
    };
    struct Delta {
        Part added, removed;
    };
    struct Row {
        bool found = false;
        Part part;
    };

    void change(const RunRecord& run, bool added);
    [[nodiscard]] static Result<Row> read_row(Connection& connection, const Dialect& dialect,
                                              const RollupKey& key);
    [[nodiscard]] static Result<Row> find_or_make_row(Connection& connection,
                                                      const Dialect& dialect, const RollupKey& key);
    // Finds the longest and the last run after one of them was removed.
    [[nodiscard]] static Status find_extremes(Connection& connection, const RollupKey& key,
                                              Part& part);
    [[nodiscard]] static Status apply_one(Connection& connection, const Dialect& dialect,
                                          const RollupKey& key, const Delta& delta);

    std::map<RollupKey, Delta> deltas_;
};

}  // namespace lagtrap::server
