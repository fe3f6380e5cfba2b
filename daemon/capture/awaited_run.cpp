#include "daemon/capture/awaited_run.hpp"

namespace lagtrap::daemon {

AwaitedRun::AwaitedRun(const trace::SessionTrigger& trigger, const settings::Event& event)
    : event_(trigger.event),
      pid_(trigger.pid),
      tid_(trigger.tid),
      begin_ns_(trigger.begin_ns),
      breach_ns_(trigger.breach_ns) {
    if (trigger.of_goroutine) ends_with_ = EndsWith::Process;
    if (event.key == settings::KeyKind::Thread) return;
    ends_with_ =
        event.key_scope == settings::KeyScope::Machine ? EndsWith::Neither : EndsWith::Process;
}

void AwaitedRun::miss() {
    if (state_ == State::GoesOn) state_ = State::Gone;
}

void AwaitedRun::take(const lagtrap_record* record) {
    if (record->type == LAGTRAP_RECORD_RUN) {
        const auto& run = *reinterpret_cast<const lagtrap_run*>(record);
        if (run.event == event_ && run.begin_ns == begin_ns_ && run.begin_tid == tid_ &&
            run.begin_pid == pid_)
            state_ = State::Ended;
    } else if (record->type == LAGTRAP_RECORD_EXIT) {
        take_exit(*reinterpret_cast<const lagtrap_task_change*>(record));
    } else if (record->type == LAGTRAP_RECORD_NAME) {
        const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
        if (name.by_exec != 0 && name.pid == pid_ && record->at_ns > breach_ns_ &&
            ends_with_ != EndsWith::Neither)
            miss();
    }
}

void AwaitedRun::take_exit(const lagtrap_task_change& change) {
    // An earlier exit belongs to another thread with the same number.
    if (change.pid != pid_ || change.header.at_ns < breach_ns_ || ends_with_ == EndsWith::Neither)
        return;
    if (change.tid == (ends_with_ == EndsWith::Thread ? tid_ : pid_)) miss();
}

}  // namespace lagtrap::daemon
