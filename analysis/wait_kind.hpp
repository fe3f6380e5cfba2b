// What a blocked thread waited for, in more detail than the reason: the kind of lock or signal,
// from the functions the program called.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lagtrap::analysis {

enum class WaitKind : std::uint8_t {
    Lock,           // mutex or other lock that a thread holds
    ReadWriteLock,  // that several threads may hold
    // of the threading module, also in conditions and queues: whoever releases it need not hold it
    PythonLock,
    Signal,  // condition variable, barrier: until another thread signals it
    Semaphore,
    Once,             // pthread_once, the initialisation of a static variable
    ThreadEnd,        // pthread_join
    Futex,            // a futex about which nothing more is known
    InterpreterLock,  // Python's GIL, Ruby's GVL: held by the thread that runs the language's code
    KernelLock,
    MemoryMap,      // mmap_lock of a process
    FrozenFiles,    // a frozen file system, which blocks all writers
    FrozenMapping,  // as FrozenFiles, for a write to a mapped file
    FileLock,
    DatabaseLock,  // of a table or row
    RowLock,       // of InnoDB
    NoGoroutine,   // a thread of Go's runtime, for a goroutine to run
    Pipe,
    LocalSocket,
    Network,
    Child,       // end of another process
    ChildStart,  // vfork: until the child runs its program
    Client,      // a server, for the next request of its client
    UnixSignal,  // sigwait
    Events,      // poll, epoll, select
    Sleep,
    Disk,
    PageFault,
    Memory,       // reclaim
    GroupMemory,  // reclaim, in a control group at its limit
    CpuLimit,
    Stopped,  // by a signal or a debugger
    Other,
};

// Kind of a wait whose reason is `reason`, from the program's functions on its stack, outermost
// first. Unlike wait_kind_of() of a recording, never InterpreterLock.
[[nodiscard]] WaitKind wait_kind_of(std::string_view reason,
                                    std::span<const std::string_view> functions);

// "for a lock", "for events", "on a pipe", ..., to follow "waited". For Other, "in" and the reason;
// empty for Sleep.
[[nodiscard]] std::string words_of_wait(WaitKind kind, std::string_view reason);

// True if a thread holds the awaited object until it releases it, so that what the holder did is
// the cause.
[[nodiscard]] bool is_held(WaitKind kind);

// True if whoever ends such a wait may answer a request, so that a thread that was started for the
// answer stands for the one that started it.
[[nodiscard]] bool is_answered(WaitKind kind);

// What the thread that ended such a wait did: "released it", "signalled it", "ended", "woke it".
[[nodiscard]] std::string_view words_of_waker(WaitKind kind);

}  // namespace lagtrap::analysis
