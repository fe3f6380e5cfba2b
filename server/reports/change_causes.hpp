// Which causes of delays came with a change. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/reports/worsening.hpp"

namespace lagtrap::server::reports {

// A time before or after a change. Only some delays are recorded, so that rates are over all runs.
struct DelayCounts {
    double runs = 0;      // all; hours if runs are not recorded
    double delays = 0;    // all
    double recorded = 0;  // of these, whose causes were searched
};

// Recorded delays that have a cause.
struct CauseCounts {
    std::uint64_t cause = 0;
    double before = 0, after = 0;
};

struct CauseShift {
    std::uint64_t cause = 0;
    double before = 0, after = 0;  // estimated delays with the cause by run, or by hour
    double p_value = 1;            // one-sided: that the cause has more of them after the change
    // Estimated delays with it beyond those before, of all delays beyond those before; of all
    // delays after the change if that is not one of their number. 0 to 1.
    double part = 0;
    // it is new or at least twice as frequent, significantly, and `part` is at least a tenth
    bool came = false;
};

// In the order of those that came with the change, largest part first; then the others, most
// frequent first.
[[nodiscard]] std::vector<CauseShift> cause_shifts(const DelayCounts& before,
                                                   const DelayCounts& after,
                                                   std::span<const CauseCounts> causes,
                                                   Figure changed = Figure::Delays);

}  // namespace lagtrap::server::reports
