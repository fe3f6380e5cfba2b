// Judges from outside of a program whether its open runs can still end.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/events/call_frame.hpp"
#include "daemon/events/goroutine_frame.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// All functions read /proc, except is_stale() and is_of_goroutine().

// True if its thread is alive in the program that began it. For keys that are values or goroutines,
// its process; runs with machine-wide keys may outlive both. `program_starts_fd` is the map with
// the times of each process's last exec; -1: exec ends no runs. A thread that ends may wait for a
// CPU after the kernel has removed it from /proc, so its waits can end for another ten seconds.
[[nodiscard]] bool can_end(const lagtrap_run& run, const std::vector<settings::Event>& events,
                           int program_starts_fd, std::uint64_t now_ns);

// Open longer than LAGTRAP_STALE_NS and LAGTRAP_STALE_THRESHOLDS thresholds, as in the BPF
// programs.
[[nodiscard]] bool is_stale(const lagtrap_slot& slot, std::uint64_t now_ns);
// True if a run with a machine-wide key is so old that it will probably not end. The limit is lower
// if its process is gone.
[[nodiscard]] bool outlived(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns,
                            const std::vector<settings::Event>& events);

[[nodiscard]] inline bool is_of_goroutine(const lagtrap_run& run) {
    return (run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0;
}
// State of the run's goroutine, as far as it is known now (goroutine_looks.hpp).
[[nodiscard]] FrameState goroutine_state(const lagtrap_run& run, const lagtrap_slot& slot);
// True if it is over its threshold and its goroutine is gone.
[[nodiscard]] bool goroutine_ended(const lagtrap_run& run, const lagtrap_slot& slot,
                                   std::uint64_t now_ns);
// State of the run's call or goroutine; Gone if it was left without an end.
[[nodiscard]] FrameState frame_of(const lagtrap_run& run, const lagtrap_slot& slot,
                                  const settings::Event& event, const CallFrames& frames);
// True if the run is a call with a known return address that was left.
[[nodiscard]] bool has_left_call(const lagtrap_run& run, const lagtrap_slot& slot,
                                 const CallFrames& frames);

}  // namespace lagtrap::daemon
