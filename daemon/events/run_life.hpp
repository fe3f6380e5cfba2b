// Whether a run that is open can still end, as far as it can be told from outside of its program.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/listener.h"
#include "daemon/events/call_frame.hpp"
#include "daemon/events/goroutine_frame.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// All of these look into /proc, but for is_stale() and is_of_goroutine().

// Whether its thread lives in the program that began it, or (where a value or a goroutine is the key) its process; a key of
// the whole machine may outlive both. `program_starts_fd`: the map of when each process last became another program; -1: exec
// ends no run.
[[nodiscard]] bool can_end(const lagtrap_run& run, const std::vector<settings::Event>& events, int program_starts_fd);

// Open for LAGTRAP_STALE_NS and LAGTRAP_STALE_THRESHOLDS, as the programs have it.
[[nodiscard]] bool is_stale(const lagtrap_slot& slot, std::uint64_t now_ns);
// Whether a run whose key is the machine's has been waited for long enough: less where its process is gone.
[[nodiscard]] bool outlived(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns,
                            const std::vector<settings::Event>& events);

[[nodiscard]] inline bool is_of_goroutine(const lagtrap_run& run) {
    return (run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0;
}
// Of the run's goroutine, as far as it is known by now (goroutine_looks.hpp).
[[nodiscard]] FrameState goroutine_state(const lagtrap_run& run, const lagtrap_slot& slot);
// Whether it is over its threshold and its goroutine is gone.
[[nodiscard]] bool goroutine_ended(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns);
// Whether the call of the run, or its goroutine, has been left without an end.
[[nodiscard]] FrameState frame_of(const lagtrap_run& run, const lagtrap_slot& slot, const settings::Event& event,
                                  const CallFrames& frames);
// Whether the run is a call of a thread whose return address is known, and it was left.
[[nodiscard]] bool has_left_call(const lagtrap_run& run, const lagtrap_slot& slot, const CallFrames& frames);

}  // namespace lagtrap::daemon
