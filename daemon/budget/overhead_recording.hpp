// What to give up of a recording that costs more than the settings allow. Only decides: no kernel, no clock of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Processor time since the recording began.
struct RecordingUse {
    std::uint64_t at_ns = 0;
    std::uint64_t samples_ns = 0;
    std::uint64_t switches_ns = 0;
    std::uint64_t others_ns = 0;  // wakings, and the daemon's own use
};

class RecordingBudget {
  public:
    struct Step {
        settings::Shed kind = settings::Shed::Samples;
        std::chrono::nanoseconds sample_interval{};  // of Samples
        std::string sentence;                        // for people, with the moment in the recording
    };
    // What the recording takes is judged over this time, and sooner where it has used up by then what is allowed for all of it.
    static constexpr std::chrono::milliseconds window{250};
    static constexpr std::chrono::milliseconds look_interval{25};
    static constexpr std::uint32_t longest_sample_interval = 16;  // times the settings' one

    // For a recording that begins now.
    void begin(const settings::Budget& budget, const settings::Recording& recording, std::uint32_t cpus,
               const RecordingUse& use);
    // To be called often; looks every look_interval, and gives up one thing at a time, each with a new window.
    [[nodiscard]] std::optional<Step> look(const RecordingUse& use);
    // Whether it is time for a look, so that what it costs need not be counted before.
    [[nodiscard]] bool due(std::uint64_t now_ns) const;

  private:
    [[nodiscard]] std::optional<Step> step_of(settings::Shed kind, const RecordingUse& delta, std::uint64_t cost_ns);

    settings::Budget budget_;
    std::chrono::nanoseconds first_interval_{}, interval_{};
    bool switch_stacks_ = false;
    std::uint32_t cpus_ = 1;
    std::uint64_t began_ns_ = 0;
    RecordingUse before_;  // when the window began
    std::uint64_t looked_ns_ = 0;
};

}  // namespace lagtrap::daemon
