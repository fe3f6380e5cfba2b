#include "daemon/capture/recording_length.hpp"

namespace lagtrap::daemon {

bool RecordingLength::is_look_due(Clock::time_point now) const {
    return extended_ ? now >= next_look_ : may_extend() && now >= limits_.planned_end;
}

std::optional<trace::RecordingEnd> RecordingLength::at(Clock::time_point now,
                                                       std::uint64_t written_bytes,
                                                       AwaitedRun::State run) {
    if (written_bytes > limits_.size_limit_bytes) return trace::RecordingEnd::Size;
    if (now < limits_.planned_end) return std::nullopt;
    const bool goes_on = run == AwaitedRun::State::GoesOn;
    if (!extended_ && !(may_extend() && goes_on)) return trace::RecordingEnd::Length;
    if (!goes_on)
        return run == AwaitedRun::State::Ended ? trace::RecordingEnd::RunEnd
                                               : trace::RecordingEnd::RunGone;
    if (now >= limits_.last_end) return trace::RecordingEnd::Limit;
    if (!extended_ || now >= next_look_) next_look_ = now + look_interval;
    extended_ = true;
    return std::nullopt;
}

}  // namespace lagtrap::daemon
