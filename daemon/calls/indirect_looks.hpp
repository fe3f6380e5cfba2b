// Decides when the indirect calls of traced functions have probes: for a while, at once again while
// that finds functions, later from time to time.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

class IndirectLooks {
  public:
    enum class Step {
        Wait,
        Begin,  // attach the probes
        End,    // detach them and read what they saw
    };
    // `budget`: for the probes, in CPUs.
    explicit IndirectLooks(double budget) : budget_(budget) {}

    // `hits` of the probes so far, each of which costs `hit_ns`.
    [[nodiscard]] Step step(std::uint64_t now_ns, std::uint64_t hits, std::uint64_t hit_ns);
    // The last look found nothing new.
    void note_nothing_new(std::uint64_t now_ns);
    // Never look again.
    void stop();

  private:
    double budget_;
    bool looking_ = false;
    std::uint64_t began_ns_ = 0, next_ns_ = 0, hits_before_ = 0;
};

}  // namespace lagtrap::daemon
