// Why a thread blocked, read off the kernel functions of the stack at which it stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/recording.hpp"
#include "analysis/wait_kind.hpp"

namespace lagtrap::analysis {

enum class BlockReason : std::uint8_t {
    StoppedBySignal,
    StoppedByDebugger,
    Frozen,
    UserPageFault,
    MemoryLimit,
    FreeingMemory,
    CpuLimit,
    Futex,
    Semaphore,
    FileLock,
    KernelLock,
    MemoryMap,
    FrozenFiles,
    FrozenMapping,
    PageFault,
    SwapFault,
    Sleep,
    FileSystemServer,
    NetworkFileSystem,
    DiskTooMuchUnwritten,
    Disk,
    DiskAsynchronous,
    Events,
    IoUring,
    Timer,
    LocalSocket,
    Network,
    Socket,
    Pipe,
    ChildProcess,
    Signal,
    MessageQueue,
    Terminal,
    RcuGracePeriod,
    KernelSleep,
    NoWork,
    KernelThread,
    Unknown,  // no function of the table; then the innermost function of the stack is all that can be said
};

struct BlockReasonFacts {
    BlockReason reason;
    std::string_view name;  // as reports have it: "lock (futex)", "disk", "sleep", ...
    WaitKind kind;          // of Futex the program's own functions say more (wait_kind_of)
    // Its waits end by a timer or a device, never by what another program does. The kernel then names the thread that the
    // interrupt hit as the waker, which means nothing.
    bool ends_by_interrupt;
};

[[nodiscard]] const BlockReasonFacts& facts_of(BlockReason reason);
// By its name; Unknown where none has it.
[[nodiscard]] BlockReason find_block_reason(std::string_view name);

// What a kernel function says of a wait, by a table of the kernel's function names (6.1 to 6.18).
[[nodiscard]] BlockReason reason_of_function(std::string_view kernel_function);

// The reason of a stack: the first entry of the table that any of its kernel functions matches.
[[nodiscard]] BlockReason block_reason_of(const Recording& recording, StackId stack);
// The same as text. Of Unknown: "blocked in FUNCTION" after the innermost function that is not the scheduler's own; else "unknown
// reason".
[[nodiscard]] std::string reason_of_stack(const Recording& recording, StackId stack);

// Which kind of wait it was, by the reason and, of a futex, by the user functions of the stack.
[[nodiscard]] WaitKind wait_kind_of(const Recording& recording, StackId stack);

// Whether a kernel function is scheduler, tracing or system call entry: always there, explains nothing.
[[nodiscard]] bool is_kernel_plumbing(std::string_view kernel_function);

// Whether a function only starts threads or programs ("_start", "clone3", ...).
[[nodiscard]] bool is_thread_start(std::string_view function);

}  // namespace lagtrap::analysis
