// What the counters of an event tell of its pairing: whether begins and ends belong together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/events/event_plan.hpp"
#include "daemon/events/listener_programs.hpp"
#include "daemon/events/open_runs.hpp"

namespace lagtrap::daemon {

// Whether a run that passes its threshold while it is open is a slow one, as far as experience goes: not where no end of the
// event was ever seen, nor where runs that passed it turned out too often to have lost their end. `counters` and `runs` since
// the event was armed.
[[nodiscard]] bool believes_deadlines(const EventCounters& counters, const OpenRuns::Counts& runs);

struct PairingFinding {
    enum class Kind { NoEnd, NoBegin, OutOfScope, BeginsUnended, EndsUnbegun, NotBelieved, Crowded, SemaphoreUnseen };
    Kind kind = Kind::NoEnd;
    std::string sentence;
};

// What is wrong with the pairing, each kind at most once; empty where nothing is, or too little was seen.
[[nodiscard]] std::vector<PairingFinding> pairing_findings(const EventCounters& counters, const OpenRuns::Counts& runs);

// What keeps markers of a file from being hit at all, though they are armed; nullopt: nothing that is known.
[[nodiscard]] std::optional<PairingFinding> marker_finding(const EventPlan& plan);

}  // namespace lagtrap::daemon
