// Decides what to reduce in a recording that costs more than the settings allow. Uses neither the
// kernel nor a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// CPU time since the recording began.
struct RecordingUse {
    std::uint64_t at_ns = 0;
    std::uint64_t samples_ns = 0;
    std::uint64_t switches_ns = 0;
    std::uint64_t others_ns = 0;  // wakeups, and the daemon's own CPU time
};

class RecordingBudget {
  public:
    struct Step {
        settings::BudgetPart kind = settings::BudgetPart::Samples;
        std::chrono::nanoseconds sample_interval{};  // for Samples
        // for people; says when in the recording it happened
        std::string sentence;
    };
    // The cost is averaged over this time. A step comes earlier if the cost so far already exceeds
    // what the whole window may use.
    static constexpr std::chrono::milliseconds window{250};
    static constexpr std::chrono::milliseconds look_interval{25};
    static constexpr std::uint32_t max_sample_interval = 16;  // multiple of the configured interval

    // Starts a new recording.
    void begin(const settings::Budget& budget, const settings::Recording& recording,
               std::uint32_t cpus, const RecordingUse& use);
    // Call it often: it checks once per look_interval. It reduces one thing at a time and starts a
    // new window after each step.
    [[nodiscard]] std::optional<Step> look(const RecordingUse& use);
    // Whether the next check is due, so that callers need not measure the cost before that.
    [[nodiscard]] bool due(std::uint64_t now_ns) const;

  private:
    [[nodiscard]] std::optional<Step> step_of(settings::BudgetPart kind, const RecordingUse& delta,
                                              std::uint64_t cost_ns);

    settings::Budget budget_;
    std::chrono::nanoseconds first_interval_{}, interval_{};
    bool switch_stacks_ = false;
    std::uint32_t cpus_ = 1;
    std::uint64_t began_ns_ = 0;
    RecordingUse before_;  // at the start of the window
    std::uint64_t looked_ns_ = 0;
};

}  // namespace lagtrap::daemon
