// What the probes of a trace of calls take, by what they do: measured by tracing calls of this program itself.
#pragma once

#include <array>
#include <cstdint>

#include "calls/call_tree.hpp"
#include "daemon/calls/call_plan.hpp"

namespace lagtrap::daemon {

struct CallCosts {
    enum Entry : std::size_t { SimpleEntry, SteppedEntry };            // as ProbeKind has it
    enum Exit : std::size_t { ReturnProbe, SteppedExit, SimpleExit };  // a return instruction is stepped, a jump is not
    using Table = std::array<std::array<calls::ProbeCost, 3>, 2>;
    Table inside{{{{{700, 800}, {3000, 3500}, {700, 800}}}, {{{3000, 3000}, {5500, 5500}, {3000, 3000}}}}};
    bool measured = false;  // else those above, of no machine in particular

    [[nodiscard]] const calls::ProbeCost& of(const PlannedFunction& function) const;
    // Of a single probe on an instruction that is stepped.
    [[nodiscard]] std::uint64_t of_stepped_probe_ns() const;
};

// Some tens of milliseconds; where the kernel takes probes out slowly some seconds. What cannot be measured stays as above.
[[nodiscard]] CallCosts measure_call_costs();
// The same in programs of Go, where each probe looks for its goroutine.
[[nodiscard]] CallCosts measure_go_call_costs();

}  // namespace lagtrap::daemon
