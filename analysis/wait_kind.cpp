#include "analysis/wait_kind.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "analysis/block_reason.hpp"
#include "analysis/frame_role.hpp"

namespace lagtrap::analysis {

namespace {

struct Entry {
    // for functions that a program calls; if it ends in '*', matches as a prefix
    std::string_view pattern;
    WaitKind kind;
};

// Names as returned by plain_function().
constexpr auto futex_callers =
    std::to_array<Entry>({{"pthread_mutex_*", WaitKind::Lock},
                          {"pthread_rwlock_*", WaitKind::ReadWriteLock},
                          {"lll_lock_wait*", WaitKind::Lock},
                          {"lll_mutex_lock*", WaitKind::Lock},
                          {"mtx_lock", WaitKind::Lock},
                          {"mtx_timedlock", WaitKind::Lock},
                          {"std::mutex::lock*", WaitKind::Lock},
                          {"runtime.lock*", WaitKind::Lock},
                          {"pthread_cond_*", WaitKind::Signal},
                          {"cnd_*wait", WaitKind::Signal},
                          {"pthread_barrier_wait", WaitKind::Signal},
                          {"std::condition_variable*", WaitKind::Signal},
                          {"pthread_join", WaitKind::ThreadEnd},
                          {"pthread_timedjoin*", WaitKind::ThreadEnd},
                          {"pthread_clockjoin*", WaitKind::ThreadEnd},
                          {"thrd_join", WaitKind::ThreadEnd},
                          {"std::thread::join*", WaitKind::ThreadEnd},
                          {"pthread_once*", WaitKind::Once},
                          {"call_once", WaitKind::Once},
                          {"cxa_guard_acquire*", WaitKind::Once},
                          {"sem_*wait*", WaitKind::Semaphore},
                          {"new_sem_wait*", WaitKind::Semaphore},
                          {"std::counting_semaphore*", WaitKind::Semaphore},
                          {"std::call_once*", WaitKind::Once},
                          {"std::barrier*", WaitKind::Signal},
                          {"std::latch*", WaitKind::Signal},
                          {"std::*future*::*", WaitKind::Signal},
                          // Rust
                          {"*std::sy*Mutex*::*lock*", WaitKind::Lock},
                          {"*std::sy*RwLock*::*", WaitKind::ReadWriteLock},
                          {"*std::sy*Condvar*::*wait*", WaitKind::Signal},
                          {"*std::sy*once*::Once*::call*", WaitKind::Once},
                          {"*std::sync::mpsc*", WaitKind::Signal},
                          {"*std::thread::*park*", WaitKind::Signal},
                          {"parking_lot::raw_mutex*", WaitKind::Lock},
                          {"parking_lot::raw_rwlock*", WaitKind::ReadWriteLock},
                          {"parking_lot::condvar*", WaitKind::Signal}});

// Functions of runtimes that say more than what they call. Python 3.9 to 3.14 (thread_pthread.h,
// lock.c), OpenJDK 11 to 25 (objectMonitor.cpp, os_posix.cpp), Ruby 2.7 to 3.3 (thread_sync.c).
constexpr auto runtime_functions =
    std::to_array<Entry>({{"rb_mutex_lock*", WaitKind::Lock},
                          {"rb_mutex_synchronize", WaitKind::Lock},
                          {"PyThread_acquire_lock*", WaitKind::PythonLock},
                          {"PyMutex_Lock*", WaitKind::PythonLock},
                          {"ObjectMonitor::enter*", WaitKind::Lock},
                          {"ObjectMonitor::Enter*", WaitKind::Lock},
                          {"ObjectMonitor::wait*", WaitKind::Signal},
                          {"*GangTaskDispatcher::*wait*", WaitKind::Signal},
                          {"WorkerTaskDispatcher::worker_run_task*", WaitKind::Signal},
                          {"ObjectMonitor::ReenterI*", WaitKind::Lock},
                          {"JavaThread::sleep*", WaitKind::Sleep},
                          {"os::sleep*", WaitKind::Sleep}});

// Functions of databases and of Go, whatever they wait with. PostgreSQL 11 to 18, MariaDB 10.5
// to 11.8, SQLite 3, which retries until it gets a lock.
constexpr auto server_functions =
    std::to_array<Entry>({{"ProcSleep", WaitKind::DatabaseLock},
                          {"MDL_wait::timed_wait*", WaitKind::DatabaseLock},
                          {"lock_wait(que_thr_t*", WaitKind::RowLock},
                          {"lock_wait_suspend_thread*", WaitKind::RowLock},
                          {"sqlite3InvokeBusyHandler", WaitKind::DatabaseLock},
                          {"sqliteDefaultBusyCallback", WaitKind::DatabaseLock},
                          {"LWLockAcquire*", WaitKind::ReadWriteLock},
                          {"secure_read", WaitKind::Client},
                          {"vio_io_wait", WaitKind::Client},
                          // Go 1.12 to 1.25 (runtime/proc.go)
                          {"runtime.findRunnable*", WaitKind::NoGoroutine},
                          {"runtime.findrunnable*", WaitKind::NoGoroutine},
                          {"runtime.stopm*", WaitKind::NoGoroutine},
                          {"runtime.sysmon*", WaitKind::NoGoroutine}});

// '*' matches anything, anywhere.
bool matches(std::string_view text, std::string_view pattern) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return text == pattern;
    if (!text.starts_with(pattern.substr(0, star))) return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (std::size_t at = star; at <= text.size(); ++at) {
        if (matches(text.substr(at), rest)) return true;
        if (rest.empty()) return true;
    }
    return false;
}

template <std::size_t Count>
const Entry* find(std::string_view text, const std::array<Entry, Count>& table) {
    const auto place = std::find_if(table.begin(), table.end(), [&](const Entry& entry) {
        return matches(text, entry.pattern);
    });
    return place != table.end() ? &*place : nullptr;
}

// Functions that take an interpreter's lock and wait for nothing else; the functions in which they
// wait for it are unnamed. Python 3.9 to 3.13 (ceval_gil.h), Ruby 2.7 to 3.3 (thread_pthread.c).
constexpr auto interpreter_lock_functions = std::to_array<std::string_view>(
    {"take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "PyEval_AcquireLock",
     "PyGILState_Ensure", "_PyThreadState_Attach", "PyThreadState_Attach",
     "eval_frame_handle_pending", "_Py_HandlePending", "_PyEval_EvalFrameDefault", "gvl_acquire",
     "gvl_acquire_common", "thread_sched_to_running", "thread_sched_to_running_common",
     "thread_sched_wait_running_turn", "rb_threadptr_execute_interrupts", "rb_thread_schedule",
     "rb_nogvl"});

bool is_interpreter_lock(const Recording& recording, StackId stack) {
    const auto frames = recording.stacks[stack];
    std::optional<NameId> nameless_in;  // file of unnamed places, seen from the inside
    for (auto place = frames.rbegin(); place != frames.rend(); ++place) {
        const Frame& frame = recording.frames[*place];
        if (frame.kernel || role_of(recording, frame) == FrameRole::Plumbing) continue;
        if (nameless_in && *nameless_in != frame.module) return false;
        if (frame.named)
            return std::find(interpreter_lock_functions.begin(), interpreter_lock_functions.end(),
                             recording.name(frame.label)) != interpreter_lock_functions.end();
        nameless_in = frame.module;
    }
    return false;
}

// One of Ruby's waiting threads watches for signals, and sleeps or waits for a Mutex in ppoll().
// The functions that do so have no names (native_ppoll_sleep in thread_pthread.c, Ruby 2.7 to 3.2).
std::optional<WaitKind> wait_of_ruby(const Recording& recording, StackId stack) {
    const Frame* caller = nullptr;  // Ruby's innermost function with a name
    bool nameless = false, polls = false;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (frame.kernel) break;
        const std::string_view module = module_name(recording.name(frame.module));
        const bool of_ruby = module.starts_with("ruby") || module.starts_with("libruby");
        polls = !of_ruby && frame.named && plain_function(recording.name(frame.label)) == "ppoll";
        if (of_ruby && frame.named) caller = &frame;
        if (of_ruby) nameless = !frame.named;
    }
    if (caller == nullptr || !nameless || !polls) return std::nullopt;
    const std::string_view function = recording.name(caller->label);
    if (function.starts_with("rb_mutex_lock") || function == "rb_mutex_synchronize")
        return WaitKind::Lock;
    const bool by_script =
        role_of(recording, *caller) == FrameRole::Interpreter && function != "rb_ensure";
    return by_script ? std::optional(WaitKind::Sleep) : std::nullopt;
}

bool may_be_of_server(WaitKind kind) {
    return kind == WaitKind::Futex || kind == WaitKind::Semaphore || kind == WaitKind::Events ||
           kind == WaitKind::Network || kind == WaitKind::LocalSocket || kind == WaitKind::Sleep;
}

// In Debian's MariaDB, the functions of InnoDB have no names. Below the handler's, only lock_wait()
// (storage/innobase/lock/lock0lock.cc) waits with a timeout: for a row lock.
bool is_row_lock(std::span<const std::string_view> functions) {
    const auto handler = std::find_if(
        functions.rbegin(), functions.rend(),
        [](std::string_view function) { return function.starts_with("handler::ha_"); });
    if (handler == functions.rend()) return false;
    bool has_timeout = false;
    for (auto called = handler.base(); called != functions.end(); ++called) {
        const std::string_view function = plain_function(*called);
        has_timeout = has_timeout || function.starts_with("pthread_cond_timedwait") ||
                      function.starts_with("pthread_cond_clockwait");
        if (!function.starts_with("pthread_cond_") && !function.starts_with("futex_")) return false;
    }
    return has_timeout;
}

std::optional<WaitKind> server_wait_of(std::span<const std::string_view> functions) {
    if (is_row_lock(functions)) return WaitKind::RowLock;
    for (const std::string_view function : functions)
        if (const Entry* wait = find(plain_function(function), server_functions); wait != nullptr)
            return wait->kind;
    return std::nullopt;
}

// The innermost counts: pthread_cond_wait, for example, waits for the mutex at its end.
WaitKind futex_wait_of(std::span<const std::string_view> functions) {
    WaitKind found = WaitKind::Futex, of_runtime = WaitKind::Futex;
    for (const std::string_view name : functions) {
        const std::string_view function = plain_function(name);
        if (const Entry* caller = find(function, futex_callers); caller != nullptr)
            found = caller->kind;
        if (const Entry* caller = find(function, runtime_functions); caller != nullptr)
            of_runtime = caller->kind;
    }
    return of_runtime != WaitKind::Futex ? of_runtime : found;
}

std::vector<std::string_view> functions_of(const Recording& recording, StackId stack) {
    std::vector<std::string_view> functions;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (!frame.kernel && frame.named && !is_of_script(recording, frame))
            functions.push_back(recording.name(frame.label));
    }
    return functions;
}

// Words for waits without a kind of their own. Without an entry here, they are "blocked in
// FUNCTION".
std::string words_of_reason(std::string_view reason) {
    if (reason.starts_with("blocked in ")) return std::string(reason);
    switch (find_block_reason(reason)) {
        case BlockReason::Frozen: return "while it was frozen";
        case BlockReason::UserPageFault:
            return "for a page of memory that another program provides (userfaultfd)";
        case BlockReason::FileSystemServer: return "for a FUSE file system";
        case BlockReason::NetworkFileSystem: return "for a network file system";
        case BlockReason::MessageQueue: return "for a message queue";
        case BlockReason::Terminal: return "on a terminal";
        case BlockReason::FileCheck:
            return "for a program that checks files before they are opened (fanotify)";
        case BlockReason::CallCheck: return "for a program that checks its system calls (seccomp)";
        case BlockReason::AutomaticMount: return "for an automatic mount (autofs)";
        case BlockReason::CpuChange: return "to be moved to another CPU";
        case BlockReason::KernelHelper: return "for a program that the kernel had started";
        case BlockReason::KernelWork: return "for work that the kernel does in the background";
        case BlockReason::RcuGracePeriod:
            return "for the kernel to be sure that no CPU still uses old data (RCU grace period)";
        case BlockReason::KernelSleep: return "in the kernel (sleep)";
        case BlockReason::NoWork: return "for work (a kernel worker)";
        case BlockReason::KernelThread: return "as a kernel thread";
        case BlockReason::Input: return "for input (such as from a pipe or a terminal)";
        case BlockReason::Output: return "to write (such as to a pipe or a terminal)";
        case BlockReason::InKernel: return "in the kernel";
        default: return "for an unknown reason";
    }
}

// Only locks inherit priorities: the kernel knows their owners.
bool is_lock_with_owner(const Recording& recording, StackId stack) {
    const auto frames = recording.stacks[stack];
    return std::any_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
        const Frame& frame = recording.frames[place];
        return frame.kernel && recording.name(frame.label).starts_with("futex_lock_pi");
    });
}

}  // namespace

WaitKind wait_kind_of(const Recording& recording, StackId stack) {
    const WaitKind kind = facts_of(block_reason_of(recording, stack)).kind;
    if (!may_be_of_server(kind)) return kind;
    const std::vector<std::string_view> functions = functions_of(recording, stack);
    if (const auto of_server = server_wait_of(functions)) return *of_server;
    if (kind == WaitKind::Events) return wait_of_ruby(recording, stack).value_or(kind);
    if (kind != WaitKind::Futex) return kind;
    if (is_interpreter_lock(recording, stack)) return WaitKind::InterpreterLock;
    // The innermost counts: pthread_cond_wait, for example, waits for the mutex at its end.
    WaitKind found = kind, of_runtime = kind;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (frame.kernel || !frame.named) continue;
        // Code of the language that such a function has called waits for something else.
        if (role_of(recording, frame) == FrameRole::Interpreter) of_runtime = kind;
        const std::string_view function = plain_function(recording.name(frame.label));
        if (const Entry* caller = find(function, futex_callers); caller != nullptr)
            found = caller->kind;
        if (const Entry* caller = find(function, runtime_functions); caller != nullptr)
            of_runtime = caller->kind;
    }
    if (of_runtime != kind) return of_runtime;
    return found == kind && is_lock_with_owner(recording, stack) ? WaitKind::Lock : found;
}

WaitKind wait_kind_of(std::string_view reason, std::span<const std::string_view> functions) {
    const WaitKind kind = facts_of(find_block_reason(reason)).kind;
    if (!may_be_of_server(kind)) return kind;
    if (const auto of_server = server_wait_of(functions)) return *of_server;
    return kind == WaitKind::Futex ? futex_wait_of(functions) : kind;
}

std::string words_of_wait(WaitKind kind, std::string_view reason) {
    switch (kind) {
        case WaitKind::Lock: return "for a lock";
        case WaitKind::ReadWriteLock: return "for a reader/writer lock";
        case WaitKind::PythonLock: return "for a Python lock";
        case WaitKind::Signal: return "for a signal from another thread";
        case WaitKind::Semaphore: return "for a semaphore";
        case WaitKind::Once: return "for another thread's one-time initialisation";
        case WaitKind::ThreadEnd: return "for a thread to end";
        case WaitKind::Futex: return "on a futex (a lock or a signal)";
        case WaitKind::InterpreterLock: return "for the interpreter's lock (GIL)";
        case WaitKind::KernelLock: return "for a lock in the kernel";
        case WaitKind::MemoryMap: return "for the process's memory map (mmap_lock)";
        case WaitKind::FrozenFiles: return "to write to a frozen file system";
        case WaitKind::FrozenMapping:
            return "in a page fault, to write to a mapped file of a frozen file system";
        case WaitKind::FileLock: return "for a file lock";
        case WaitKind::DatabaseLock: return "for a lock of the database";
        case WaitKind::RowLock: return "for a row lock of the database";
        case WaitKind::NoGoroutine: return "for a goroutine that can run";
        case WaitKind::Client: return "for its client";
        case WaitKind::UnixSignal: return "for a signal (such as SIGCHLD)";
        case WaitKind::Pipe: return "on a pipe";
        case WaitKind::LocalSocket: return "on a local socket";
        case WaitKind::Network: return "on a network connection";
        case WaitKind::Child: return "for a child process";
        case WaitKind::ChildStart: return "for a child process to start its program or end (vfork)";
        case WaitKind::Events: return "for events";
        case WaitKind::Sleep: return "";
        case WaitKind::Disk: return "for the disk";
        case WaitKind::PageFault: return "for a page of memory (page fault)";
        case WaitKind::Memory: return "for memory";
        case WaitKind::GroupMemory: return "for memory of its control group";
        case WaitKind::CpuLimit: return "at the CPU limit of its control group";
        case WaitKind::Stopped: return "while it was " + std::string(reason);
        case WaitKind::Other: break;
    }
    return words_of_reason(reason);
}

bool is_held(WaitKind kind) {
    return kind == WaitKind::Lock || kind == WaitKind::FileLock ||
           kind == WaitKind::InterpreterLock || kind == WaitKind::DatabaseLock ||
           kind == WaitKind::RowLock || kind == WaitKind::MemoryMap;
}

bool is_answered(WaitKind kind) {
    return kind == WaitKind::Network || kind == WaitKind::LocalSocket || kind == WaitKind::Pipe ||
           kind == WaitKind::Events || kind == WaitKind::Signal || kind == WaitKind::Semaphore ||
           kind == WaitKind::Futex || kind == WaitKind::PythonLock;
}

std::string_view words_of_waker(WaitKind kind) {
    switch (kind) {
        case WaitKind::Lock:
        case WaitKind::ReadWriteLock:
        case WaitKind::PythonLock:
        case WaitKind::InterpreterLock:
        case WaitKind::KernelLock:
        case WaitKind::MemoryMap:
        case WaitKind::DatabaseLock:
        case WaitKind::RowLock:
        case WaitKind::FileLock: return "released it";
        case WaitKind::FrozenFiles:
        case WaitKind::FrozenMapping: return "thawed it";
        case WaitKind::Signal: return "gave it";
        case WaitKind::Semaphore: return "posted it";
        case WaitKind::Once: return "finished it";
        case WaitKind::ThreadEnd:
        case WaitKind::Child: return "ended";
        case WaitKind::ChildStart: return "did";
        case WaitKind::Stopped: return "resumed it";
        default: return "woke it";
    }
}

}  // namespace lagtrap::analysis
