// Evaluates the counters of an event: do its begins and ends belong together?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/events/event_plan.hpp"
#include "daemon/events/monitor_programs.hpp"
#include "daemon/events/open_runs.hpp"

namespace lagtrap::daemon {

// True if an open run over its threshold is probably slow. False if no end of the event was ever
// seen, or if such runs too often turned out to have lost their end. Pass `counters` and `runs`
// since the event was armed.
[[nodiscard]] bool believes_deadlines(const EventCounters& counters, const OpenRuns::Counts& runs);

struct PairingFinding {
    enum class Kind {
        NoEnd,
        NoBegin,
        OutOfScope,
        BeginsUnended,
        EndsUnbegun,
        NotBelieved,
        Crowded,
        SemaphoreUnseen
    };
    Kind kind = Kind::NoEnd;
    std::string sentence;
};

// Problems with the pairing, each kind at most once. Empty if there are none, or too few hits to
// tell.
[[nodiscard]] std::vector<PairingFinding> pairing_findings(const EventCounters& counters,
                                                           const OpenRuns::Counts& runs);

// A reason why armed markers of a file cannot be hit; nullopt if none is known.
[[nodiscard]] std::optional<PairingFinding> marker_finding(const EventPlan& plan);

}  // namespace lagtrap::daemon
