// The run that started a recording: whether it goes on, so that the recording may last to its end.
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
        Gone,   // it will never end: its thread, process or program is gone
    };

    // `event` is the trigger's.
    AwaitedRun(const trace::SessionTrigger& trigger, const settings::Event& event);

    // To be told of every record of the recording, in any order; most cost nothing.
    void take(const lagtrap_record* record);
    // It is among the open runs no more, and nobody told that it ended.
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
