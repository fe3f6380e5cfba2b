// Keeps how long the runs of each event took, and finds the thresholds that follow from them. Has
// its file written on another thread, because a sync may take long.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/thresholds/run_history.hpp"
#include "daemon/thresholds/threshold_policy.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class ThresholdKeeper {
  public:
    using Totals = std::map<std::string, RunHistogram>;  // since the daemon started, by event

    // Reads the file of an earlier daemon. A damaged one is replaced, after a warning.
    ThresholdKeeper(std::filesystem::path file, Log log, const ClockSnapshot& now);
    // Waits for the file.
    ~ThresholdKeeper();
    ThresholdKeeper(const ThresholdKeeper&) = delete;
    ThresholdKeeper& operator=(const ThresholdKeeper&) = delete;

    // Replaces the thresholds of events with a rule by those in force.
    void fill(settings::Settings& settings) const;
    // These settings are in force, with the thresholds of fill().
    void use(const settings::Settings& settings);
    // Takes the runs, and decides the thresholds anew. Call it every few seconds.
    void look(const Totals& totals, const ClockSnapshot& now);
    // By number of the event, for those with a rule; empty before the first look().
    [[nodiscard]] const std::map<std::uint32_t, ThresholdDecision>& decisions() const {
        return decisions_;
    }
    // A delay begins a recording of this event. The next save() writes the file.
    void note_capture(std::uint32_t event, std::uint64_t now_ns);
    // Writes the file if the last time is long ago. Returns before it is written.
    void save(const ClockSnapshot& now);
    // Writes the file, and waits for it.
    void finish();

    [[nodiscard]] const settings::AutoThreshold& limits() const { return limits_; }
    [[nodiscard]] const std::vector<settings::Event>& events() const { return events_; }
    [[nodiscard]] const RunHistory& history() const { return history_; }

  private:
    void follow_clock(const ClockSnapshot& now);
    void begin_to_save();
    void take_saved();
    [[nodiscard]] ThresholdDecision decide(const settings::Event& event, const RunHistogram& added,
                                           std::uint64_t now_ns);

    std::filesystem::path file_;
    Log log_;
    RunHistory history_;
    std::map<std::string, ThresholdState> states_;  // by event; also of those without a rule now
    std::vector<settings::Event> events_;
    settings::AutoThreshold limits_;
    std::map<std::uint32_t, ThresholdDecision> decisions_;
    ClockSnapshot clocks_;      // at the last look
    std::uint64_t save_at_ns_;  // CLOCK_BOOTTIME
    std::future<Status> saving_;
    bool save_failed_ = false;  // the last one
};

}  // namespace lagtrap::daemon
