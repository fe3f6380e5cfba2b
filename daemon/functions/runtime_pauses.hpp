// When a runtime's probes are in. Each of them sees all functions, so the hot ones cannot be taken out alone: where they cost
// more than they may, all are out for a while.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

class RuntimePauses {
  public:
    // Whether they should be in from now on. `now_ns`: monotonic, `spent_ns`: what they have cost so far, `share`: of a CPU that
    // they may take.
    [[nodiscard]] bool look(std::uint64_t now_ns, std::uint64_t spent_ns, double share);
    // How long they were in, so far.
    [[nodiscard]] std::uint64_t in_ns() const { return in_ns_; }

  private:
    double owed_ns_ = 0;  // taken beyond the share
    std::uint64_t looked_ns_ = 0, spent_ns_ = 0, in_ns_ = 0;
    bool in_ = true;
};

}  // namespace lagtrap::daemon
