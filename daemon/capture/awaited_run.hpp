// Follows the run that triggered a recording, so that the recording can last until that run ends.
#pragma once

#include <cstdint>

#include "bpf/records.h"
#include "settings/settings.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

class AwaitedRun {
  public:
    enum class State {
        GoesOn,
        Ended,  // its end was recorded
        // it will never end: its thread or process exited, or the process started another program
        Gone,
    };

    // `event` is the event of the trigger.
    AwaitedRun(const trace::SessionTrigger& trigger, const settings::Event& event);

    // Pass every record of the recording, in any order. Most are ignored cheaply.
    void take(const lagtrap_record* record);
    // Call it if the run is not open any more and no end was reported.
    void miss();
    [[nodiscard]] State state() const { return state_; }

  private:
    enum class EndsWith { Thread, Process, Neither };

    void take_exit(const lagtrap_task_change& change);

    std::uint32_t event_;
    std::uint32_t pid_, tid_;
    std::uint64_t begin_ns_;
    std::uint64_t breach_ns_;
    EndsWith ends_with_ = EndsWith::Thread;
    State state_ = State::GoesOn;
};

}  // namespace lagtrap::daemon
