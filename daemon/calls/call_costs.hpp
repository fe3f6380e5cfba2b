// The cost of the probes of a call trace, by kind of entry and exit. cost_meter.hpp measures it.
#pragma once

#include <array>
#include <cstdint>

#include "calls/call_tree.hpp"
#include "daemon/calls/call_plan.hpp"

namespace lagtrap::daemon {

struct CallCosts {
    enum Entry : std::size_t { SimpleEntry, SteppedEntry };  // as in ProbeKind
    // The kernel single-steps return instructions, but not jumps.
    enum Exit : std::size_t { ReturnProbe, SteppedExit, SimpleExit };
    using Table = std::array<std::array<calls::ProbeCost, 3>, 2>;
    Table inside{
        {{{{700, 800}, {3000, 3500}, {700, 800}}}, {{{3000, 3000}, {5500, 5500}, {3000, 3000}}}}};
    bool measured = false;  // false: the defaults above, typical values of no particular machine

    struct Kind {
        Entry entry = SimpleEntry;
        Exit exit = ReturnProbe;
    };
    [[nodiscard]] static Kind kind_of(const PlannedFunction& function);
    [[nodiscard]] const calls::ProbeCost& of(Kind kind) const {
        return inside[kind.entry][kind.exit];
    }
    [[nodiscard]] const calls::ProbeCost& of(const PlannedFunction& function) const {
        return of(kind_of(function));
    }
    // Cost of one probe on an instruction that the kernel single-steps.
    [[nodiscard]] std::uint64_t of_stepped_probe_ns() const;
};

}  // namespace lagtrap::daemon
