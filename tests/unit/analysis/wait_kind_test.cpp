#include "analysis/wait_kind.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "analysis/block_reason.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::wait_kind_test {
namespace {

using Functions = std::vector<std::string_view>;
constexpr std::string_view futex = "lock (futex)";
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";
const std::string python = "!/usr/bin/python3.11!";
const std::string ruby = "!/usr/bin/ruby3.1!";

WaitKind in_futex(const Functions& functions) { return wait_kind_of(futex, functions); }

WaitKind of_stack(const std::vector<std::string>& frames) {
    test::MadeRecording made;
    const StackId stack = made.stack(frames);
    return wait_kind_of(made.recording, stack);
}

TEST(WaitKind, OfAFutexIsWhatTheCallingFunctionWaitsFor) {
    const std::vector<std::pair<std::string_view, WaitKind>> callers{
        {"pthread_mutex_lock", WaitKind::Lock},
        {"__GI___pthread_mutex_lock", WaitKind::Lock},
        {"___pthread_mutex_lock@GLIBC_2.2.5", WaitKind::Lock},
        {"pthread_rwlock_rdlock", WaitKind::ReadWriteLock},
        {"__lll_lock_wait", WaitKind::Lock},
        {"mtx_lock", WaitKind::Lock},
        {"mtx_lockable", WaitKind::Futex},
        {"std::mutex::lock()", WaitKind::Lock},
        {"runtime.lock2", WaitKind::Lock},
        {"pthread_cond_wait", WaitKind::Signal},
        {"cnd_timedwait", WaitKind::Signal},
        {"cnd_signal", WaitKind::Futex},
        {"pthread_barrier_wait", WaitKind::Signal},
        {"pthread_join", WaitKind::ThreadEnd},
        {"pthread_joined", WaitKind::Futex},
        {"pthread_clockjoin_np", WaitKind::ThreadEnd},
        {"thrd_join", WaitKind::ThreadEnd},
        {"std::thread::join()", WaitKind::ThreadEnd},
        {"pthread_once", WaitKind::Once},
        {"__pthread_once_slow.isra.0", WaitKind::Once},
        {"__cxa_guard_acquire", WaitKind::Once},
        {"call_once", WaitKind::Once},
        {"call_once_more", WaitKind::Futex},
        {"std::call_once<void (&)()>(std::once_flag&, void (&)())", WaitKind::Once},
        {"std::sys::sync::once::futex::Once::call", WaitKind::Once},
        {"std::sys_common::once::futex::Once::call", WaitKind::Once},
        {"std::sync::once::Once::call_once_force", WaitKind::Once},
        {"sem_clockwait", WaitKind::Semaphore},
        {"__new_sem_wait_slow64", WaitKind::Semaphore},
        {"std::counting_semaphore<1>::acquire()", WaitKind::Semaphore},
        {"std::barrier<>::wait()", WaitKind::Signal},
        {"std::latch::wait()", WaitKind::Signal},
        {"std::future<int>::get()", WaitKind::Signal},
        {"std::sys::sync::mutex::futex::Mutex::lock_contended", WaitKind::Lock},
        {"std::sys::sync::rwlock::futex::RwLock::read_contended", WaitKind::ReadWriteLock},
        {"std::sync::Condvar::wait", WaitKind::Signal},
        {"std::sync::mpsc::Receiver<T>::recv", WaitKind::Signal},
        {"std::thread::park", WaitKind::Signal},
        {"parking_lot::raw_mutex::RawMutex::lock_slow", WaitKind::Lock},
        {"parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", WaitKind::ReadWriteLock},
        {"parking_lot::condvar::Condvar::wait_until_internal", WaitKind::Signal},
        {"rb_mutex_lock", WaitKind::Lock},
        {"PyThread_acquire_lock_timed", WaitKind::PythonLock},
        {"PyMutex_LockTimed", WaitKind::PythonLock},
        {"ObjectMonitor::enter(JavaThread*)", WaitKind::Lock},
        {"ObjectMonitor::wait(long, bool, JavaThread*)", WaitKind::Signal},
        {"JavaThread::sleep(long)", WaitKind::Sleep},
        {"SemaphoreGangTaskDispatcher::worker_wait_for_task()", WaitKind::Signal},
        {"handle", WaitKind::Futex},
        {"runtime.stopm", WaitKind::NoGoroutine},
        {"runtime.findRunnable", WaitKind::NoGoroutine},
        {"runtime.stopTheWorld", WaitKind::Futex},
        {"lock_wait(que_thr_t*)", WaitKind::RowLock},
        {"mtx_timedlock", WaitKind::Lock},
        {"__lll_mutex_lock_slow", WaitKind::Lock},
        {"pthread_timedjoin_np", WaitKind::ThreadEnd},
        {"std::condition_variable::wait()", WaitKind::Signal},
        {"rb_mutex_synchronize", WaitKind::Lock},
        {"ObjectMonitor::EnterI(JavaThread*)", WaitKind::Lock},
        {"ObjectMonitor::ReenterI(ObjectWaiter*)", WaitKind::Lock},
        {"WorkerTaskDispatcher::worker_run_task()", WaitKind::Signal},
        {"os::sleep(Thread*, long)", WaitKind::Sleep},
        {"runtime.findrunnable", WaitKind::NoGoroutine},
        {"runtime.sysmon", WaitKind::NoGoroutine},
        {"lock_wait_suspend_thread(que_thr_t*)", WaitKind::RowLock},
        {"MDL_wait::timed_wait(THD*)", WaitKind::DatabaseLock},
        {"sqlite3InvokeBusyHandler", WaitKind::DatabaseLock},
        {"sqliteDefaultBusyCallback", WaitKind::DatabaseLock},
        {"secure_read", WaitKind::Client},
        {"vio_io_wait", WaitKind::Client},
        {"ProcSleep", WaitKind::DatabaseLock},
        {"ProcSleeper", WaitKind::Futex},
        {"LWLockAcquireOrWait", WaitKind::ReadWriteLock}};
    for (const auto& [function, kind] : callers)
        EXPECT_EQ(in_futex({"main", function}), kind) << function;
    EXPECT_EQ(in_futex({}), WaitKind::Futex);
}

TEST(WaitKind, TheInnermostFunctionCountsAndTheRuntimeMoreThanWhatItCalls) {
    EXPECT_EQ(in_futex({"pthread_cond_wait", "__lll_lock_wait"}), WaitKind::Lock);
    EXPECT_EQ(in_futex({"__lll_lock_wait", "pthread_cond_wait"}), WaitKind::Signal);
    EXPECT_EQ(in_futex({"PyThread_acquire_lock_timed", "sem_clockwait"}), WaitKind::PythonLock);
    EXPECT_EQ(in_futex({"ObjectMonitor::wait(long)", "ObjectMonitor::ReenterI(ObjectWaiter*)",
                        "pthread_cond_wait"}),
              WaitKind::Lock);
}

TEST(WaitKind, FunctionsOfServersCountForWaitsThatServersUseOnly) {
    EXPECT_EQ(wait_kind_of("events", Functions{"ProcSleep"}), WaitKind::DatabaseLock);
    EXPECT_EQ(wait_kind_of("network", Functions{"secure_read"}), WaitKind::Client);
    EXPECT_EQ(wait_kind_of("local socket", Functions{"vio_io_wait"}), WaitKind::Client);
    EXPECT_EQ(wait_kind_of("lock (semaphore)", Functions{"LWLockAcquire"}),
              WaitKind::ReadWriteLock);
    EXPECT_EQ(wait_kind_of("sleep", Functions{"sqliteDefaultBusyCallback"}),
              WaitKind::DatabaseLock);
    EXPECT_EQ(wait_kind_of("disk", Functions{"ProcSleep"}), WaitKind::Disk);
    EXPECT_EQ(wait_kind_of("pipe", Functions{"secure_read"}), WaitKind::Pipe);
    EXPECT_EQ(wait_kind_of("events", Functions{"pthread_mutex_lock"}), WaitKind::Events);
    // The outermost says for whom the others wait.
    EXPECT_EQ(wait_kind_of("events", Functions{"LWLockAcquire", "ProcSleep"}),
              WaitKind::ReadWriteLock);
    EXPECT_EQ(wait_kind_of("blocked in foo", Functions{"ProcSleep"}), WaitKind::Other);
}

TEST(WaitKind, OfNamelessInnoDbIsARowLockIfItWaitsWithATimeoutDirectlyBelowTheHandler) {
    EXPECT_EQ(in_futex({"handler::ha_rnd_next", "pthread_cond_timedwait"}), WaitKind::RowLock);
    EXPECT_EQ(in_futex({"handler::ha_rnd_next", "__pthread_cond_clockwait64",
                        "__futex_abstimed_wait_common64"}),
              WaitKind::RowLock);
    EXPECT_EQ(in_futex({"handler::ha_rnd_next", "pthread_cond_wait"}), WaitKind::Signal);
    EXPECT_EQ(in_futex({"handler::ha_rnd_next", "read_page", "pthread_cond_timedwait"}),
              WaitKind::Signal);
    EXPECT_EQ(in_futex({"handler::ha_rnd_next", "read", "handler::ha_index_next",
                        "pthread_cond_timedwait"}),
              WaitKind::RowLock);
    EXPECT_EQ(in_futex({"pthread_cond_timedwait", "handler::ha_rnd_next"}), WaitKind::Signal);
}

TEST(WaitKind, OfAnInterpretersLockIsKnownByTheFunctionAroundIt) {
    const std::string wait = libc + "pthread_cond_timedwait";
    EXPECT_EQ(of_stack({"main", python + "PyEval_RestoreThread", wait, "k:futex_wait"}),
              WaitKind::InterpreterLock);
    EXPECT_EQ(
        of_stack({"main", python + "take_gil", "?:/usr/bin/python3.11", wait, "k:futex_wait"}),
        WaitKind::InterpreterLock);
    EXPECT_EQ(of_stack({"main", python + "take_gil", "?:/usr/lib/other.so", wait, "k:futex_wait"}),
              WaitKind::Signal);
    EXPECT_EQ(of_stack({"main", python + "take_gil", "handle", wait, "k:futex_wait"}),
              WaitKind::Signal);
    // Such a lock is a futex: in poll(), the same functions wait for events.
    EXPECT_EQ(of_stack({"main", python + "PyEval_RestoreThread", "k:do_sys_poll"}),
              WaitKind::Events);
}

TEST(WaitKind, OfCodeThatAnInterpreterCalledIsItsOwn) {
    EXPECT_EQ(of_stack({python + "PyThread_acquire_lock", libc + "sem_wait", "k:futex_wait"}),
              WaitKind::PythonLock);
    EXPECT_EQ(of_stack({python + "PyThread_acquire_lock", python + "PyObject_Call", "native",
                        libc + "sem_wait", "k:futex_wait"}),
              WaitKind::Semaphore);
}

TEST(WaitKind, OnlyLocksInheritPriorities) {
    EXPECT_EQ(of_stack({"main", "handle", "k:futex_wait"}), WaitKind::Futex);
    EXPECT_EQ(of_stack({"main", "handle", "k:futex_lock_pi"}), WaitKind::Lock);
    EXPECT_EQ(of_stack({"main", libc + "pthread_cond_wait", "k:futex_lock_pi"}), WaitKind::Signal);
}

TEST(WaitKind, OfRubysNamelessPollIsWhatItsCallerWants) {
    const auto in_poll = [&](const std::string& caller, bool nameless = true,
                             const std::string& poll = "ppoll") {
        std::vector<std::string> frames{ruby + "main", ruby + caller};
        if (nameless) frames.emplace_back("?:/usr/bin/ruby3.1");
        frames.push_back(libc + poll);
        frames.emplace_back("k:do_sys_poll");
        return of_stack(frames);
    };
    EXPECT_EQ(in_poll("rb_mutex_lock"), WaitKind::Lock);
    EXPECT_EQ(in_poll("rb_mutex_synchronize"), WaitKind::Lock);
    EXPECT_EQ(in_poll("vm_call_cfunc"), WaitKind::Sleep);
    EXPECT_EQ(in_poll("rb_ensure"), WaitKind::Events);
    EXPECT_EQ(in_poll("rb_io_wait"), WaitKind::Events);
    EXPECT_EQ(in_poll("rb_mutex_lock", false), WaitKind::Events);
    EXPECT_EQ(in_poll("rb_mutex_lock", true, "poll"), WaitKind::Events);
}

TEST(WaitKind, HasWordsForWhatItWaitsForAndWhoEndsIt) {
    struct Case {
        WaitKind kind;
        std::string words, waker;
        bool held = false;
    };
    const std::vector<Case> cases{
        {WaitKind::Lock, "for a lock", "released it", true},
        {WaitKind::ReadWriteLock, "for a reader/writer lock", "released it"},
        {WaitKind::PythonLock, "for a Python lock", "released it"},
        {WaitKind::Signal, "for a signal from another thread", "gave it"},
        {WaitKind::Semaphore, "for a semaphore", "posted it"},
        {WaitKind::Once, "for another thread's one-time initialisation", "finished it"},
        {WaitKind::ThreadEnd, "for a thread to end", "ended"},
        {WaitKind::Futex, "on a futex (a lock or a signal)", "woke it"},
        {WaitKind::InterpreterLock, "for the interpreter's lock (GIL)", "released it", true},
        {WaitKind::KernelLock, "for a lock in the kernel", "released it"},
        {WaitKind::MemoryMap, "for the process's memory map (mmap_lock)", "released it", true},
        {WaitKind::FrozenFiles, "to write to a frozen file system", "thawed it"},
        {WaitKind::FrozenMapping,
         "in a page fault, to write to a mapped file of a frozen file system", "thawed it"},
        {WaitKind::FileLock, "for a file lock", "released it", true},
        {WaitKind::DatabaseLock, "for a lock of the database", "released it", true},
        {WaitKind::RowLock, "for a row lock of the database", "released it", true},
        {WaitKind::NoGoroutine, "for a goroutine that can run", "woke it"},
        {WaitKind::Client, "for its client", "woke it"},
        {WaitKind::UnixSignal, "for a signal (such as SIGCHLD)", "woke it"},
        {WaitKind::Pipe, "on a pipe", "woke it"},
        {WaitKind::LocalSocket, "on a local socket", "woke it"},
        {WaitKind::Network, "on a network connection", "woke it"},
        {WaitKind::Child, "for a child process", "ended"},
        {WaitKind::ChildStart, "for a child process to start its program or end (vfork)", "did"},
        {WaitKind::Events, "for events", "woke it"},
        {WaitKind::Sleep, "", "woke it"},
        {WaitKind::Disk, "for the disk", "woke it"},
        {WaitKind::PageFault, "for a page of memory (page fault)", "woke it"},
        {WaitKind::Memory, "for memory", "woke it"},
        {WaitKind::GroupMemory, "for memory of its control group", "woke it"},
        {WaitKind::CpuLimit, "at the CPU limit of its control group", "woke it"},
        {WaitKind::Stopped, "while it was R", "resumed it"},
        {WaitKind::Other, "for an unknown reason", "woke it"}};
    for (const Case& one : cases) {
        EXPECT_EQ(words_of_wait(one.kind, "R"), one.words);
        EXPECT_EQ(words_of_waker(one.kind), one.waker) << one.words;
        EXPECT_EQ(is_held(one.kind), one.held) << one.words;
    }
}

TEST(WaitKind, OfOtherReasonsHasTheirWords) {
    const auto words = [](std::string_view reason) {
        return words_of_wait(WaitKind::Other, reason);
    };
    EXPECT_EQ(words("blocked in foo"), "blocked in foo");
    EXPECT_EQ(words("frozen"), "while it was frozen");
    EXPECT_EQ(words("FUSE file system"), "for a FUSE file system");
    EXPECT_EQ(words("network file system"), "for a network file system");
    EXPECT_EQ(words("message queue"), "for a message queue");
    EXPECT_EQ(words("terminal"), "on a terminal");
    EXPECT_EQ(words("automatic mount (autofs)"), "for an automatic mount (autofs)");
    EXPECT_EQ(words("change of CPU"), "to be moved to another CPU");
    EXPECT_EQ(words("helper program of the kernel"), "for a program that the kernel had started");
    EXPECT_EQ(words("work of the kernel"), "for work that the kernel does in the background");
    EXPECT_EQ(words("sleep in the kernel"), "in the kernel (sleep)");
    EXPECT_EQ(words("no work (kernel worker)"), "for work (a kernel worker)");
    EXPECT_EQ(words("kernel thread"), "as a kernel thread");
    EXPECT_EQ(words("input"), "for input (such as from a pipe or a terminal)");
    EXPECT_EQ(words("output"), "to write (such as to a pipe or a terminal)");
    EXPECT_EQ(words("in the kernel"), "in the kernel");
    EXPECT_EQ(words_of_wait(WaitKind::Stopped, "stopped or frozen"),
              "while it was stopped or frozen");
    EXPECT_EQ(words("page fault (userfaultfd)"),
              "for a page of memory that another program provides (userfaultfd)");
    EXPECT_EQ(words("check of a file (fanotify)"),
              "for a program that checks files before they are opened (fanotify)");
    EXPECT_EQ(words("check of a system call (seccomp)"),
              "for a program that checks its system calls (seccomp)");
    EXPECT_EQ(words("kernel (RCU grace period)"),
              "for the kernel to be sure that no CPU still uses old data (RCU grace period)");
}

}  // namespace
}  // namespace lagtrap::analysis::wait_kind_test
