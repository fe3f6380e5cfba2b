#include "daemon/calls/call_costs.hpp"

#include <algorithm>
#include <cstddef>

#include "daemon/probes/overhead_probes.hpp"

namespace lagtrap::daemon {

CallCosts::Kind CallCosts::kind_of(const PlannedFunction& function) {
    const Entry entry =
        probe_kind_of(function.first_code) == ProbeKind::Simple ? SimpleEntry : SteppedEntry;
    if (function.exits.empty()) return {entry, ReturnProbe};
    // Most functions that end with a jump also have a return.
    const bool jumps =
        std::all_of(function.exits.begin(), function.exits.end(), [](const auto& exit) {
            return exit.condition != binaries::JumpCondition::Always && !exit.by_target;
        });
    return {entry, jumps ? SimpleExit : SteppedExit};
}

std::uint64_t CallCosts::of_stepped_probe_ns() const {
    const auto& both = inside[SteppedEntry][SteppedExit];
    return (both.inside_ns + both.around_ns) / 2;
}

}  // namespace lagtrap::daemon
