// Watches for runs that are slow, though not over their threshold yet, and has the machine recorded meanwhile. For the
// breach watch's thread; its lock guards what others read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/events/early_points.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class EarlyWatch {
  public:
    using CountsOf = std::function<std::optional<EarlyPoints::Histogram>(std::uint32_t event)>;
    struct Options {
        std::function<void(std::uint32_t pid)> on_begin;  // a recording is wanted, for a run of this process
        std::function<void()> on_over;                    // no more: the runs have ended
    };
    // Of settings with <confirm> it wants none: nothing is recorded before the answer.
    EarlyWatch(const settings::Settings& settings, Options options);

    // Age of a run from which on it counts, by event; LAGTRAP_NEVER_NS: at none.
    [[nodiscard]] const std::vector<std::uint64_t>& points_ns() const { return points_.points_ns(); }
    // Chooses the points anew if it is time; true: some changed.
    [[nodiscard]] bool learn(std::uint64_t now_ns, const CountsOf& counts_of);

    // What a look at the open runs found: a process with a run past its point, or 0. `wanted`: a breach would begin a recording.
    void take_look(std::uint32_t early_pid, bool wanted, std::uint64_t now_ns);
    // A recording begins in earnest; one that has begun early is a part of it.
    void take_breach(std::uint64_t now_ns);
    // The recording needs too much memory: it is given up, and none begins until these runs have ended.
    void outgrow(std::uint64_t now_ns);

    [[nodiscard]] bool is_on() const { return began_ns_ != 0; }
    // When to look again at the latest while one is on, and at the earliest for its sake alone.
    [[nodiscard]] std::uint64_t look_interval_ns() const { return look_interval_ns_; }
    [[nodiscard]] EarlyCounts counts(std::uint64_t now_ns) const;

  private:
    void end(std::uint64_t now_ns);

    Options options_;
    EarlyPoints points_;
    EarlyBudget budget_;
    std::uint64_t look_interval_ns_;
    std::uint64_t next_learning_ns_ = 0;
    std::uint64_t began_ns_ = 0;  // of the recording that is on
    bool held_back_ = false;      // the runs that are past their point now
    EarlyCounts counts_;
};

}  // namespace lagtrap::daemon
