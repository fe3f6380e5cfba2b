// Whether a call of a function is still on its thread's stack, seen from outside its program, which is not stopped for it. A call
// that an exception or longjmp() left does not show that by itself: no probe is on that way out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/events/goroutine_frame.hpp"

namespace lagtrap::daemon {

struct ThreadCall {
    std::uint32_t pid = 0, tid = 0;
    std::uint64_t frame = 0;           // where its return address lies
    std::uint64_t return_address = 0;  // at its entry; 0: not known
};

// What shows whether it is there.
struct CallEvidence {
    std::optional<std::uint64_t> word_at_frame;  // nullopt: that memory cannot be read
    bool word_is_trampoline = false;             // of the kernel's return probes, which stands for the return address
    std::optional<std::uint64_t> stack_pointer;  // nullopt: the thread runs
    bool on_one_stack = false;                   // frame and stack pointer; false also where that cannot be told
};

// Gone: another call has its place, or the thread's stack does not reach that far. Alive where there is a doubt.
[[nodiscard]] FrameState state_of_call(const ThreadCall& call, const CallEvidence& evidence);

// Of a text as /proc/PID/maps has it: whether both addresses lie on the stack of one thread. A thread's own stack has its name,
// or ends at a guard page; parts of one mapping that a program made itself may be stacks of several fibers.
[[nodiscard]] bool lie_on_one_stack(const std::string& maps, std::uint64_t one, std::uint64_t other);
// The same: whether the kernel jumps to return probes from there.
[[nodiscard]] bool lies_in_trampoline(const std::string& maps, std::uint64_t address);

// Asks the kernel, by a thread that is left behind where the process keeps its memory locked: such a process waits for what
// shall be noticed. Not for several threads at once.
class CallFrames {
  public:
    // A delay is reported this much later if the process keeps its memory map locked.
    static constexpr std::chrono::milliseconds usual_patience{20};

    explicit CallFrames(std::chrono::milliseconds patience = usual_patience) : patience_(patience) {}
    // Alive where there is no answer in time.
    [[nodiscard]] FrameState state_of(const ThreadCall& call) const;

  private:
    std::chrono::milliseconds patience_;
    std::shared_ptr<std::atomic<bool>> is_asking_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace lagtrap::daemon
