// Watches for runs that are slow but still within their threshold, and has the machine recorded
// meanwhile. Use it on the breach watch's thread; the watch's lock protects what other threads
// read.
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
    enum class Action {
        None,
        Begin,    // start recording, for this run
        Discard,  // discard the recording: the runs have ended
    };
    explicit EarlyWatch(const settings::Settings& settings);

    // Age from which a run is early, by event; LAGTRAP_NEVER_NS if never.
    [[nodiscard]] const std::vector<std::uint64_t>& points_ns() const {
        return points_.points_ns();
    }
    // Chooses new points for a changed threshold.
    void set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold);
    // Chooses new points if it is time. True if any changed.
    [[nodiscard]] bool learn(std::uint64_t now_ns, const CountsOf& counts_of);

    // Takes the result of a check of the open runs: the process of a run past its early point, or
    // 0. `wanted`: a breach would start a recording.
    [[nodiscard]] Action take_look(std::uint32_t early_pid, bool wanted, std::uint64_t now_ns);
    // A real recording begins, and includes the early one.
    void take_breach(std::uint64_t now_ns);
    // The recording reached its memory limit. It is discarded, and none begins until these runs
    // have ended.
    void outgrow(std::uint64_t now_ns);

    [[nodiscard]] bool is_on() const { return began_ns_ != 0; }
    // Longest time between checks during an early recording, and shortest between checks that only
    // serve early recordings.
    [[nodiscard]] std::uint64_t look_interval_ns() const { return look_interval_ns_; }
    [[nodiscard]] EarlyCounts counts(std::uint64_t now_ns) const;

  private:
    void end(std::uint64_t now_ns);

    std::vector<std::chrono::nanoseconds> thresholds_;  // by event; 0: not known yet
    EarlyPoints points_;
    EarlyBudget budget_;
    std::uint64_t look_interval_ns_;
    std::uint64_t next_learning_ns_ = 0;
    std::uint64_t began_ns_ = 0;  // start of the current recording; 0 if there is none
    bool held_back_ = false;      // no recording for the runs that are early now
    EarlyCounts counts_;
};

}  // namespace lagtrap::daemon
