// What the probes of a trace of calls take, by what they do (cost_meter.hpp measures it).
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

    struct Kind {
        Entry entry = SimpleEntry;
        Exit exit = ReturnProbe;
    };
    [[nodiscard]] static Kind kind_of(const PlannedFunction& function);
    [[nodiscard]] const calls::ProbeCost& of(Kind kind) const { return inside[kind.entry][kind.exit]; }
    [[nodiscard]] const calls::ProbeCost& of(const PlannedFunction& function) const { return of(kind_of(function)); }
    // Of a single probe on an instruction that is stepped.
    [[nodiscard]] std::uint64_t of_stepped_probe_ns() const;
};

}  // namespace lagtrap::daemon
