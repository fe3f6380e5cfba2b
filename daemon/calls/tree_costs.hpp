// The costs of a trace's probes: as measured at its start, which the client has, and now.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/call_tree.hpp"
#include "daemon/calls/call_costs.hpp"

namespace lagtrap::daemon {

class TreeCosts {
  public:
    explicit TreeCosts(const CallCosts& at_start) : at_start_(at_start), now_(at_start) {}

    // The next function. Its number is its place among all that were added.
    void add(const PlannedFunction& function) { kinds_.push_back(CallCosts::kind_of(function)); }
    void set_now(const CallCosts& now) { now_ = now; }
    [[nodiscard]] const CallCosts& at_start() const { return at_start_; }
    // Cost of the tree's probes now, relative to that at the start; 1 if either is unknown.
    [[nodiscard]] double scale_of(const calls::Tree& tree) const {
        double then_ns = 0, now_ns = 0;
        for (const calls::Call& call : tree.calls) {
            const CallCosts::Kind kind = kinds_.at(call.function);
            then_ns += whole(at_start_.of(kind));
            now_ns += whole(now_.of(kind));
        }
        return then_ns > 0 && now_ns > 0 ? now_ns / then_ns : 1;
    }

  private:
    [[nodiscard]] static double whole(const calls::ProbeCost& cost) {
        return static_cast<double>(cost.inside_ns + cost.around_ns);
    }

    CallCosts at_start_, now_;
    std::vector<CallCosts::Kind> kinds_;  // by number of the function
};

}  // namespace lagtrap::daemon
