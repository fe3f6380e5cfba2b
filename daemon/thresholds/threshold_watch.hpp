// Connects the thresholds that follow from runs with the event monitor and the capture controller.
// Use it on their thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/log.hpp"
#include "daemon/capture/capture_controller.hpp"
#include "daemon/thresholds/threshold_changes.hpp"
#include "daemon/thresholds/threshold_keeper.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class ThresholdWatch {
  public:
    // See ThresholdKeeper. The capture controller must outlive it.
    ThresholdWatch(CaptureController& controller, const std::filesystem::path& file, Log log);

    // Replaces the thresholds of events with a rule by those in force. Call it before the settings
    // are armed.
    void fill(settings::Settings& settings) const { keeper_.fill(settings); }
    // The capture controller uses these settings from now on.
    void use(const settings::Settings& settings);
    // Counts runs and changes thresholds. Call it every few seconds. A recording has the same
    // thresholds from its begin to its end.
    void look();
    // A delay of this event begins a recording.
    void note_capture(std::uint32_t event);
    // Counts the last runs and saves everything.
    void finish();

    [[nodiscard]] const ThresholdKeeper& keeper() const { return keeper_; }

  private:
    void set_thresholds();
    void hold_events();

    CaptureController& controller_;
    Log log_;
    ThresholdKeeper keeper_;
    HeldEvents held_;
};

}  // namespace lagtrap::daemon
