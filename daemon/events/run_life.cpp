#include "daemon/events/run_life.hpp"

#include <bpf/bpf.h>

#include <string>

#include "daemon/events/event_traits.hpp"
#include "daemon/events/goroutine_looks.hpp"
#include "daemon/events/run_table.hpp"
#include "daemon/processes/thread_alive.hpp"

namespace lagtrap::daemon {
namespace {

// Any process may end a run with a machine-wide key, so nothing shows that it will not end. If its
// process is alive, wait this long: a multiple of the threshold, and at least this time.
constexpr std::uint64_t machine_run_thresholds = 1000;
constexpr std::uint64_t machine_run_ns = 3'600'000'000'000;

constexpr std::uint64_t last_wait_ns = 10'000'000'000;

bool is_older_than(const lagtrap_slot& slot, std::uint64_t now_ns, std::uint64_t min_ns,
                   std::uint64_t thresholds) {
    const std::uint64_t begin_ns = slot.run.begin_hit_ns, deadline_ns = load(slot.deadline_ns);
    if (deadline_ns == 0 || deadline_ns < begin_ns) return false;
    return now_ns > begin_ns + min_ns && now_ns > begin_ns + (deadline_ns - begin_ns) * thresholds;
}

bool has_own_key(const lagtrap_run& run, const std::vector<settings::Event>& events) {
    return run.event < events.size() && keyed_by_argument(events[run.event]);
}

bool is_of_machine(const lagtrap_run& run, const std::vector<settings::Event>& events) {
    return run.event < events.size() && keyed_for_machine(events[run.event]);
}

bool is_wait_for_cpu(const lagtrap_run& run, const std::vector<settings::Event>& events) {
    return run.event < events.size() && waits_for_cpu(events[run.event]);
}

ThreadCall call_of(const lagtrap_run& run, const lagtrap_slot& slot) {
    return {run.begin_pid, run.begin_tid, slot.stack_pointer, slot.return_address};
}

FrameState call_or_goroutine(const lagtrap_run& run, const lagtrap_slot& slot, bool is_call,
                             GoroutineLooks::Age age) {
    const GoroutineFrame frame{run.begin_pid,    slot.goroutine,       run.key,
                               slot.goid_offset, slot.go_frame_offset, slot.stack_pointer};
    return known_state(frame, run.begin_ns,
                       is_call ? GoroutineLooks::Asked::Call : GoroutineLooks::Asked::Goroutine,
                       age);
}

}  // namespace

bool can_end(const lagtrap_run& run, const std::vector<settings::Event>& events,
             int program_starts_fd, std::uint64_t now_ns) {
    if (is_of_machine(run, events)) return true;
    if (is_wait_for_cpu(run, events) && now_ns < run.begin_hit_ns + last_wait_ns) return true;
    std::uint64_t program_ns = 0;
    if (program_starts_fd >= 0 &&
        bpf_map_lookup_elem(program_starts_fd, &run.begin_pid, &program_ns) == 0 &&
        program_ns > run.begin_hit_ns)
        return false;
    const bool of_thread = !has_own_key(run, events) && !is_of_goroutine(run);
    if (of_thread) return thread_alive(run.begin_pid, run.begin_tid, run.begin_hit_ns);
    return thread_alive(run.begin_pid, run.begin_pid, run.begin_hit_ns);
}

bool is_stale(const lagtrap_slot& slot, std::uint64_t now_ns) {
    return is_older_than(slot, now_ns, LAGTRAP_STALE_NS, LAGTRAP_STALE_THRESHOLDS);
}

bool outlived(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns,
              const std::vector<settings::Event>& events) {
    if (!is_of_machine(run, events)) return false;
    return is_older_than(slot, now_ns, machine_run_ns, machine_run_thresholds) ||
           !thread_alive(run.begin_pid, run.begin_pid, run.begin_hit_ns);
}

FrameState goroutine_state(const lagtrap_run& run, const lagtrap_slot& slot) {
    return call_or_goroutine(run, slot, false, GoroutineLooks::Age::Any);
}

bool goroutine_ended(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns) {
    return is_of_goroutine(run) && load(slot.deadline_ns) < now_ns &&
           goroutine_state(run, slot) == FrameState::Gone;
}

FrameState frame_of(const lagtrap_run& run, const lagtrap_slot& slot, const settings::Event& event,
                    const CallFrames& frames) {
    const bool is_call = pairs_calls(event);
    if (is_of_goroutine(run))
        return call_or_goroutine(run, slot, is_call, GoroutineLooks::Age::Fresh);
    return is_call && slot.goroutine == 0 ? frames.state_of(call_of(run, slot)) : FrameState::Alive;
}

bool has_left_call(const lagtrap_run& run, const lagtrap_slot& slot, const CallFrames& frames) {
    return slot.return_address != 0 && frames.state_of(call_of(run, slot)) == FrameState::Gone;
}

}  // namespace lagtrap::daemon
