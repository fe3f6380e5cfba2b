// What is called too often to be watched at the price that is allowed is taken out, the dearest first.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "calls/call_stream.hpp"

namespace lagtrap::daemon {

// The price is time of CPUs that the probes take, of one CPU's.
class CallThinning {
  public:
    // `share`: of a CPU, 0.1 is a tenth.
    explicit CallThinning(double share) : share_(share) {}

    // From the next look on.
    void set_share(double share) { share_ = share; }

    // `hits`: of each function so far; `costs`: of one call, as many. The functions to be taken out now, the dearest first; each
    // once. A burst that is over in some tens of milliseconds takes none out. `cpu`: CPU time of the process so far; nullopt: it is
    // taken to have one CPU all the time.
    [[nodiscard]] std::vector<calls::TakenOut> look(std::chrono::nanoseconds now,
                                                    const std::vector<std::uint64_t>& hits,
                                                    const std::vector<calls::Function>& functions,
                                                    std::optional<std::chrono::nanoseconds> cpu = std::nullopt);

    // The next look should come at once: so soon after the first one, or with so much owed, every moment is dear to the program.
    [[nodiscard]] bool is_urgent() const;

  private:
    struct Function {
        std::uint64_t hits = 0;  // when it was looked at last
        double recent_ns = 0;    // that its probes took lately
        double recent_hits = 0;
        bool out = false;
    };
    // That may be owed before something is taken out.
    [[nodiscard]] double most_owed_ns() const;
    // Those that are in, of the first so many.
    [[nodiscard]] std::vector<std::uint32_t> dearest_first(std::size_t count) const;
    // How many times what was measured the probes of these take, the dearest first.
    [[nodiscard]] double colder(const std::vector<std::uint32_t>& order) const;

    double share_;
    double looked_at_ns_ = 0;  // from the first look to the last
    double recent_cpu_ns_ = 0;
    double recent_elapsed_ns_ = 0;
    double owed_ns_ = 0;              // taken beyond the share, so far
    double since_thinned_ns_ = 1e18;  // since something was taken out
    double aimed_at_ = 1;             // what shall be left of the share
    std::chrono::nanoseconds last_{0};
    std::optional<std::chrono::nanoseconds> last_cpu_;
    std::vector<Function> functions_;
};

}  // namespace lagtrap::daemon
