// Time of a run by what its thread did and, while that thread waited, by what the awaited threads
// did. For analysis/ only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/run_profile.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

inline constexpr std::size_t wait_chain_depth = 16;

// True if a timer, a device or an unknown source ended the wait, so that no thread is to blame.
[[nodiscard]] bool ended_by_nobody(const Recording& recording, const Interval& wait);

// Part of a run's time in one place.
struct ChainTime {
    std::uint64_t time_ns = 0;
    std::uint32_t position = 0;  // in the walk
    std::uint32_t tid = 0;
    TimeKind kind = TimeKind::Unknown;
    StackId stack = 0;
    std::string_view unknown_because;
};

class ChainWalk {
  public:
    explicit ChainWalk(const Recording& recording) : recording_(recording) {
        positions_.emplace_back();
    }

    // Adds the intervals of the run's own threads. Call only once.
    void walk(const std::vector<Interval>& intervals);
    // The parts; they add up to the length of all intervals.
    [[nodiscard]] std::vector<ChainTime> times() const;

    // The waits that lead to a position, starting with the run's own.
    struct Wait {
        std::uint32_t tid = 0;  // waiting thread
        StackId stack = 0;
    };
    [[nodiscard]] std::vector<Wait> waits_before(std::uint32_t position) const;
    [[nodiscard]] std::uint64_t waits_cut() const { return waits_cut_; }

  private:
    struct Position {
        std::uint32_t parent = 0;
        std::uint32_t depth = 0;
        Wait wait;
    };
    // Where a thread was seen, and its running time until then.
    struct Sighting {
        std::uint64_t ran_ns = 0;
        StackId stack = 0;
    };
    struct CpuWait {
        std::uint64_t ran_ns = 0;
        std::uint64_t length_ns = 0;
    };
    // What one thread did at one position.
    struct Sum {
        std::uint64_t on_cpu_ns = 0;
        std::uint64_t ran_ns = 0;
        std::map<StackId, std::uint64_t> samples;
        std::map<StackId, std::uint64_t> blocked_ns;
        std::map<std::string_view, std::uint64_t> unknown_ns;
        std::vector<Sighting> sightings;
        std::vector<CpuWait> cpu_waits;
        [[nodiscard]] StackId nearest(std::uint64_t at_ns) const;
    };

    void walk(std::uint32_t position, const std::vector<Interval>& intervals);
    void add_running(const Interval& interval, Sum& sum);
    void add_blocked(std::uint32_t position, const Interval& interval);
    void add_unknown(const Interval& interval, Sum& sum);
    [[nodiscard]] bool is_followed(std::uint32_t position, const Interval& wait) const;
    std::uint32_t next_position(std::uint32_t position, const Interval& wait);

    const Recording& recording_;
    std::vector<Position> positions_;  // 0 is the run itself
    std::map<std::tuple<std::uint32_t, std::uint32_t, StackId>, std::uint32_t> known_positions_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> sums_;  // by position and thread
    std::uint64_t visited_ = 0;
    std::uint64_t waits_cut_ = 0;
};

}  // namespace lagtrap::analysis
