// Checks from outside, without stopping the program, whether a function call is still on its
// thread's stack. A call that an exception or longjmp() left does not hit any probe on its way out.
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
    std::uint64_t frame = 0;           // address of the return address
    std::uint64_t return_address = 0;  // at entry; 0 if unknown
};

// What /proc shows about a call.
struct CallEvidence {
    std::optional<std::uint64_t> word_at_frame;  // nullopt if the memory cannot be read
    // the word belongs to the kernel's return probe, in place of the return address
    bool word_is_trampoline = false;
    std::optional<std::uint64_t> stack_pointer;  // nullopt if the thread is running
    // frame and stack pointer are on one stack; false if unknown too
    bool on_one_stack = false;
};

// Gone if another word is in the place of the return address, or the thread's stack does not reach
// that far. Alive if in doubt.
[[nodiscard]] FrameState state_of_call(const ThreadCall& call, const CallEvidence& evidence);

// True if both addresses are on the stack of one thread, according to the text of /proc/PID/maps. A
// thread's stack is named, or a guard page precedes it. Parts of a mapping that the program made
// itself may be stacks of several fibers.
[[nodiscard]] bool lie_on_one_stack(const std::string& maps, std::uint64_t one,
                                    std::uint64_t other);
// True if the address is in the code that the kernel uses for return probes.
[[nodiscard]] bool lies_in_trampoline(const std::string& maps, std::uint64_t address);

// Reads /proc on a helper thread, which is abandoned if the process keeps its memory map locked:
// such a process may be waiting in the very run to report. Not thread-safe.
class CallFrames {
  public:
    // A process that keeps its memory map locked delays the report of a delay by this much.
    static constexpr std::chrono::milliseconds usual_timeout{20};

    explicit CallFrames(std::chrono::milliseconds timeout = usual_timeout) : timeout_(timeout) {}
    // Alive if there is no answer in time.
    [[nodiscard]] FrameState state_of(const ThreadCall& call) const;

  private:
    std::chrono::milliseconds timeout_;
    std::shared_ptr<std::atomic<bool>> is_asking_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace lagtrap::daemon
