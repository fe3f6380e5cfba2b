// Describes a recording that begins (trace/logs/session.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "daemon/capture/recording_length.hpp"
#include "daemon/events/breach_watch.hpp"
#include "daemon/events/event_thresholds.hpp"
#include "settings/settings.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

// `event` is a number in the settings. `breach` is null if no delay caused the recording.
[[nodiscard]] trace::Session make_session(std::string id, const settings::Settings& settings,
                                          const EventThresholds& thresholds, std::uint32_t event,
                                          trace::TriggerReason reason, const Breach* breach,
                                          CaptureLengths lengths);

}  // namespace lagtrap::daemon
