// Finds why a thread blocked, from the kernel functions of its stack.
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
    Lease,
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
    ChildStart,
    Signal,
    MessageQueue,
    Terminal,
    FileCheck,
    CallCheck,
    AutomaticMount,
    CpuChange,
    KernelHelper,
    KernelWork,
    RcuGracePeriod,
    KernelSleep,
    NoWork,
    KernelThread,
    // Of waits before a recording, only the class is known (lagtrap_wait_class).
    Input,
    Output,
    StoppedOrFrozen,
    InKernel,
    Unknown,  // no function of the table matches; only the stack's innermost function is known
};

struct BlockReasonFacts {
    BlockReason reason;
    std::string_view name;  // as in reports: "lock (futex)", "disk", "sleep", ...
    WaitKind kind;          // for Futex, the program's own functions tell more (wait_kind_of)
    // A timer or a device ends these waits, never another program. The kernel then reports the
    // interrupted thread as the waker, which means nothing.
    bool ends_by_interrupt;
};

[[nodiscard]] const BlockReasonFacts& facts_of(BlockReason reason);
// Looks a reason up by name; Unknown if there is none.
[[nodiscard]] BlockReason find_block_reason(std::string_view name);

// What a kernel function says about a wait, from a table of kernel function names (6.1 to 6.18).
[[nodiscard]] BlockReason reason_of_function(std::string_view kernel_function);

// Reason of a stack: the first table entry that matches any of its kernel functions.
[[nodiscard]] BlockReason block_reason_of(const Recording& recording, StackId stack);
// Reason as text. For Unknown, "blocked in FUNCTION" with the innermost function outside the
// scheduler, or "unknown reason".
[[nodiscard]] std::string reason_of_stack(const Recording& recording, StackId stack);

// True for waits for the mmap_lock of the thread's own process.
[[nodiscard]] bool is_for_own_memory_map(const Recording& recording, StackId stack);

// What a thread needs at the other end of a pipe, socket, message queue or terminal.
enum class Room : std::uint8_t {
    None,
    Data,        // a write to what is full, until the other end reads
    Connection,  // a connect() to a local socket whose accept queue is full
    Partner,     // an open() of a named pipe whose other end nobody has open
    Rest,        // a close() of a connection that waits until its data was read (SO_LINGER)
};
[[nodiscard]] Room room_of(const Recording& recording, StackId stack);

// Kind of wait, from the reason and, for a futex, the stack's user functions.
[[nodiscard]] WaitKind wait_kind_of(const Recording& recording, StackId stack);

}  // namespace lagtrap::analysis
