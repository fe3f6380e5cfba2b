// Decides when a runtime's probes are attached. Each of them sees all functions, so frequent ones
// cannot be detached alone. If the probes cost too much, all are detached for a while.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

class RuntimePauses {
  public:
    // True if the probes should be attached from now on. `now_ns` is monotonic, `spent_ns` is their
    // cost so far, `share` is the permitted cost in CPUs.
    [[nodiscard]] bool look(std::uint64_t now_ns, std::uint64_t spent_ns, double share);
    // How long they have been attached so far.
    [[nodiscard]] std::uint64_t in_ns() const { return in_ns_; }

  private:
    double owed_ns_ = 0;  // cost beyond the share
    std::uint64_t looked_ns_ = 0, spent_ns_ = 0, in_ns_ = 0;
    bool in_ = true;
};

}  // namespace lagtrap::daemon
