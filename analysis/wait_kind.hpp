// What a blocked thread waited for, finer than the reason: which kind of lock or signal, by what the program had called.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagtrap::analysis {

enum class WaitKind : std::uint8_t {
    Lock,    // a mutex or another lock that some thread holds
    Signal,  // a condition variable, a barrier: until another thread says so
    Semaphore,
    ThreadEnd,        // pthread_join
    Futex,            // a futex of which nothing more is known
    InterpreterLock,  // Python's GIL, Ruby's GVL: whoever runs the language's code has it
    KernelLock,
    MemoryMap,      // the mmap_lock of a process
    FrozenFiles,    // a file system that is frozen, and lets nobody write
    FrozenMapping,  // the same, of a write to a mapped file
    FileLock,
    Pipe,
    LocalSocket,
    Network,
    Child,   // another process's end
    Events,  // poll, epoll, select
    Sleep,
    Disk,
    PageFault,
    Memory,       // reclaim
    GroupMemory,  // reclaim in a control group at its limit
    CpuLimit,
    Stopped,  // by a signal or a debugger
    Other,
};

// "for a lock", "for events", "on a pipe", ...: after "waited". For Other, "in" and the reason; Sleep has none.
[[nodiscard]] std::string words_of_wait(WaitKind kind, std::string_view reason);

// Whether some thread has what is waited for until it lets it go, so that what that did meanwhile is the cause.
[[nodiscard]] bool is_held(WaitKind kind);

// "released it", "signalled it", "ended", "woke it": what the thread did that ended such a wait.
[[nodiscard]] std::string_view words_of_waker(WaitKind kind);

}  // namespace lagtrap::analysis
