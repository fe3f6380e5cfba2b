// Waits with a specific name: locks of languages, locks that several threads may hold, and what the
// stack of a thread that blocked before the recording lacks.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_cause.hpp"
#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::named_wait_tests {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";

std::string first_sentence(TraceBuilder& builder) {
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    return sentences_of(builder).at(0);
}

// From the beginning, thread 11 of process 10 runs on CPU 0, and 20 of another process on CPU 1.
TraceBuilder two_programs() {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.process(20, "/usr/bin/other").thread(20, 20, "other");
    return builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 20);
}

// Thread 11 waits from 10 ms until 20 wakes it at 210 ms.
std::string sentence_of_wait(const Stack& stack) {
    TraceBuilder builder = two_programs();
    builder.switched(10 * ms, 0, 11, 2, 0).off_cpu(10 * ms, 10, 11, stack);
    builder.waking(210 * ms, 0, 20, 11).switched(210 * ms, 0, 0, 0, 11);
    return first_sentence(builder);
}

TEST(NamedWait, whose_stack_ends_where_the_memory_map_is_taken_waits_for_it) {
    EXPECT_THAT(
        sentence_of_wait({"main", "grow", libc + "mmap", "k:do_syscall_64", "k:vm_mmap_pgoff"}),
        StartsWith("Waited 200 ms (99 %) for the process's memory map (mmap_lock) in grow (mmap), "
                   "which other"));
    EXPECT_THAT(sentence_of_wait({"main", "touch", "k:asm_exc_page_fault", "k:exc_page_fault",
                                  "k:do_user_addr_fault"}),
                HasSubstr("for the process's memory map (mmap_lock) in touch"));
}

// 13 unmaps much memory until 110 ms; 12, 14 and 11 wait for it, and get the lock in this order.
TEST(NamedWait, who_waited_for_the_same_memory_map_is_no_link_of_the_chain) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "mapper-2").thread(10, 13, "cleaner").thread(10, 14, "mapper-4");
    const Stack mapping{
        "main",      "grow", libc + "mmap", "k:vm_mmap_pgoff", "k:rwsem_down_write_slowpath",
        "k:schedule"};
    builder.switched(2 * ms, 2, 0, 0, 13)
        .samples(2 * ms, 110 * ms, 2, 10, 13,
                 {"main", "free_cache", libc + "munmap", "k:unmap_vmas"});
    builder.off_cpu(3 * ms, 10, 12, mapping).off_cpu(4 * ms, 10, 14, mapping);
    builder.switched(10 * ms, 0, 11, 2, 0).off_cpu(10 * ms, 10, 11, mapping);
    builder.waking(110 * ms, 2, 13, 12).switched(110 * ms, 1, 20, 0, 12);
    builder.waking(112 * ms, 1, 12, 14).switched(112 * ms, 3, 0, 0, 14);
    builder.waking(114 * ms, 3, 14, 11).switched(114 * ms, 0, 0, 0, 11);
    EXPECT_THAT(first_sentence(builder),
                AllOf(HasSubstr("for the process's memory map (mmap_lock) in grow (mmap), which "
                                "cleaner (13) held for 100 ms; 2 other threads got it before this "
                                "one; meanwhile cleaner (13) computed"),
                      HasSubstr("unmap_vmas"), Not(HasSubstr("mapper"))));
}

TEST(NamedWait, whose_stack_ends_where_a_file_is_locked_waits_for_no_disk) {
    EXPECT_THAT(
        sentence_of_wait(
            {"main", "save", libc + "write", "k:vfs_write", "k:ext4_buffered_write_iter"}),
        HasSubstr("for a lock in the kernel in save (write), until other (20) released it"));
    EXPECT_THAT(sentence_of_wait({"main", "save", libc + "write", "k:vfs_write",
                                  "k:ext4_buffered_write_iter", "k:balance_dirty_pages"}),
                HasSubstr("for the disk in save (write)"));
}

TEST(NamedWait, a_reader_that_releases_a_lock_need_not_have_held_it_all_the_time) {
    EXPECT_THAT(sentence_of_wait({"main", "update", libc + "pthread_rwlock_wrlock", "k:futex_wait",
                                  "k:schedule"}),
                HasSubstr("for a reader/writer lock in update (pthread_rwlock_wrlock), until other "
                          "(20) released it"));
}

TEST(NamedWait, locks_and_channels_of_rust_have_names) {
    const auto rust = [](const std::string& function) {
        return sentence_of_wait({"main", "handle_request", function, "k:futex_wait", "k:schedule"});
    };
    EXPECT_THAT(rust("std::sync::poison::mutex::Mutex<T>::lock"),
                HasSubstr("for a lock in handle_request"));
    EXPECT_THAT(rust("<std::sys::sync::mutex::futex::Mutex>::lock_contended"),
                HasSubstr("for a lock in handle_request"));
    EXPECT_THAT(rust("<std::sys::sync::rwlock::futex::RwLock>::read_contended"),
                HasSubstr("for a reader/writer lock in handle_request"));
    EXPECT_THAT(rust("std::sync::mpsc::SyncSender<T>::send"),
                HasSubstr("for a signal from another thread"));
}

TEST(NamedWait, the_result_of_a_future_is_a_signal) {
    EXPECT_THAT(
        sentence_of_wait({"main", "fetch", "std::future<int>::get", "k:futex_wait", "k:schedule"}),
        HasSubstr("for a signal from another thread in fetch (std::future<int>::get), until other "
                  "(20) gave it"));
}

// A condition's lock is released by another thread than the one that took it.
TEST(NamedWait, a_lock_of_python_is_no_semaphore) {
    EXPECT_THAT(sentence_of_wait({"!/usr/bin/python3.11!PyThread_acquire_lock_timed",
                                  libc + "__new_sem_wait_slow64.constprop.0", "k:futex_wait",
                                  "k:schedule"}),
                HasSubstr("Waited 200 ms (99 %) for a Python lock, until other (20) released it"));
}

TEST(NamedWait, the_monitor_of_java_is_a_lock_and_its_sleep_a_sleep) {
    const auto java = [](const std::string& function) {
        return sentence_of_wait({"!/usr/lib/jvm/libjvm.so!" + function,
                                 "!/usr/lib/jvm/libjvm.so!os::PlatformEvent::park",
                                 libc + "pthread_cond_wait", "k:futex_wait", "k:schedule"});
    };
    EXPECT_THAT(java("ObjectMonitor::enter"), HasSubstr("for a lock in"));
    EXPECT_THAT(java("ObjectMonitor::wait"), HasSubstr("for a signal from another thread in"));
    EXPECT_THAT(java("JavaThread::sleep"), StartsWith("Slept 200 ms"));
}

TEST(NamedWait, a_child_of_vfork_starts_its_program) {
    EXPECT_THAT(sentence_of_wait({"main", "spawn", libc + "posix_spawn", "k:kernel_clone",
                                  "k:wait_for_vfork_done", "k:schedule"}),
                HasSubstr("for a child process to start its program or end (vfork) in spawn "
                          "(posix_spawn), until other (20) did"));
}

TEST(NamedWait, without_user_stacks_the_reason_is_not_repeated) {
    EXPECT_THAT(sentence_of_wait({"k:futex_do_wait", "k:schedule"}),
                Not(HasSubstr("futex_do_wait")));
    EXPECT_THAT(
        sentence_of_wait({"k:ksys_read", "k:eventfd_read", "k:do_wait_intr_irq", "k:schedule"}),
        HasSubstr("for events, until other (20) woke it"));
    EXPECT_THAT(sentence_of_wait({"k:ksys_msgrcv", "k:do_msgrcv", "k:schedule"}),
                HasSubstr("for a message in a message queue, until other (20) woke it"));
    EXPECT_THAT(
        sentence_of_wait({"k:vfs_ioctl", "k:wait_for_answer", "k:schedule"}),
        HasSubstr("Waited 200 ms (99 %) blocked in wait_for_answer, until other (20) woke it"));
}

TEST(NamedWait, a_lock_that_inherits_priorities_is_a_lock) {
    EXPECT_THAT(
        sentence_of_wait({"k:do_futex", "k:futex_lock_pi", "k:rt_mutex_schedule", "k:schedule"}),
        StartsWith("Waited 200 ms (99 %) for a lock, which other (20) held"));
    EXPECT_THAT(sentence_of_wait({"main", "update", libc + "pthread_mutex_lock", "k:do_futex",
                                  "k:futex_lock_pi", "k:rt_mutex_schedule", "k:schedule"}),
                StartsWith("Waited 200 ms (99 %) for a lock in update (pthread_mutex_lock), which "
                           "other (20) held"));
}

TEST(NamedWait, the_kernel_thread_that_notices_the_end_of_a_grace_period_is_no_cause) {
    TraceBuilder builder = two_programs();
    builder.process(17, "").thread(17, 17, "rcu_preempt");
    builder.switched(10 * ms, 0, 11, 2, 0)
        .off_cpu(10 * ms, 10, 11,
                 {"main", "free_old", libc + "syscall", "k:synchronize_rcu_normal",
                  "k:wait_for_completion", "k:schedule"});
    builder.waking(210 * ms, 1, 17, 11).switched(210 * ms, 0, 0, 0, 11);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for the kernel to be sure that no CPU still uses old data (RCU "
              "grace period) in free_old (syscall).");
}

TEST(NamedWait, a_scanner_that_checks_a_file_is_the_one_waited_for) {
    EXPECT_THAT(
        sentence_of_wait({"main", "load", libc + "open", "k:do_dentry_open", "k:fsnotify_open_perm",
                          "k:fanotify_handle_event", "k:schedule"}),
        StartsWith(
            "Waited 200 ms (99 %) for a program that checks files before they are opened "
            "(fanotify) in load (open), until other (20) woke it; meanwhile other (20) computed"));
}

TEST(NamedWait, a_child_that_stops_again_and_again_has_not_ended) {
    TraceBuilder builder = two_programs();
    for (const std::uint64_t from : {10 * ms, 110 * ms}) {
        builder.switched(from, 0, 11, 1, 0)
            .off_cpu(from, 10, 11, {"main", "trace", libc + "wait4", "k:do_wait"});
        builder.waking(from + 99 * ms, 1, 20, 11).switched(from + 99 * ms, 0, 0, 0, 11);
    }
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("for a child process in trace (wait4), until other (20) woke it"));
}

TEST(NamedWait, repeated_sleeps_are_counted) {
    TraceBuilder builder = two_programs();
    for (const std::uint64_t from : {10 * ms, 110 * ms}) {
        builder.switched(from, 0, 11, 1, 0)
            .off_cpu(from, 10, 11, {"main", "retry", "k:hrtimer_nanosleep"});
        builder.caused_waking(from + 99 * ms, 0, 0, 11, 2).switched(from + 99 * ms, 0, 0, 0, 11);
    }
    EXPECT_EQ(first_sentence(builder),
              "Slept 198 ms (98 %) in 2 sleeps in retry, each time until its timer expired.");
}

// Thread 20 sleeps once, while 11 waits for it twice.
TEST(NamedWait, a_sleep_during_two_waits_is_one) {
    TraceBuilder builder = two_programs();
    builder.switched(9 * ms, 1, 20, 1, 0)
        .off_cpu(9 * ms, 20, 20, {"main", "pause", "k:hrtimer_nanosleep"});
    const Stack stack{"main", "take", libc + "pthread_mutex_lock", "k:futex_wait", "k:schedule"};
    for (const std::uint64_t from : {10 * ms, 110 * ms}) {
        builder.switched(from, 0, 11, 1, 0).off_cpu(from, 10, 11, stack);
        builder.waking(from + 99 * ms, 0, 20, 11).switched(from + 99 * ms, 0, 0, 0, 11);
    }
    builder.caused_waking(300 * ms, 0, 0, 20, 2).switched(300 * ms, 1, 0, 0, 20);
    EXPECT_THAT(first_sentence(builder),
                AllOf(HasSubstr("slept 198 ms in pause, until its timer expired")));
}

TEST(NamedWait, many_short_waits_are_counted) {
    TraceBuilder builder = two_programs();
    for (std::uint64_t from = 10 * ms; from < 210 * ms; from += 5 * ms) {
        builder.switched(from, 0, 11, 1, 0)
            .off_cpu(from, 10, 11, {"main", "query", "recv", "k:tcp_recvmsg"});
        builder.waking(from + 4 * ms, 0, 20, 11).switched(from + 4 * ms, 0, 0, 0, 11);
    }
    EXPECT_THAT(first_sentence(builder),
                StartsWith("Waited 160 ms (79 %) in 40 waits on a network connection in recv"));
}

TEST(NamedWait, work_in_the_kernel_has_the_call_that_asked_for_it) {
    TraceBuilder builder = two_programs();
    builder.samples(10 * ms, 211 * ms, 0, 10, 11,
                    {"main", "lock_all", libc + "mlock", "k:__x64_sys_mlock", "k:clear_page"});
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("in clear_page of the kernel, called by mlock in lock_all"));
}

// PostgreSQL waits for a lock with epoll, and is interrupted by its timer for deadlocks meanwhile.
// The stack of the first part was read when the recording began.
TEST(NamedWait, a_lock_of_a_database_is_held_by_a_transaction_whose_client_does_nothing) {
    TraceBuilder builder = two_programs();
    const Stack in_lock{"main", "exec_simple_query", "ProcSleep", "WaitEventSetWait",
                        "k:do_epoll_wait"};
    Stack later = in_lock;
    later.emplace_back("k:schedule");
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, in_lock);
    builder.caused_waking(120 * ms, 0, 0, 11, 3).switched(120 * ms, 0, 0, 0, 11);
    builder.switched(121 * ms, 0, 11, 1, 0).off_cpu(121 * ms, 10, 11, later);
    builder.waking(210 * ms, 1, 20, 11).switched(210 * ms, 0, 0, 0, 11);
    const Stack in_read{
        "main", "PostgresMain", "secure_read", "WaitEventSetWait", "k:do_epoll_wait", "k:schedule"};
    builder.process(30, "/usr/bin/psql").thread(30, 30, "psql");
    builder.switched(9 * ms, 1, 20, 1, 0).off_cpu(9 * ms, 20, 20, in_read);
    builder.waking(209 * ms, 2, 30, 20).switched(209 * ms, 1, 0, 0, 20);
    EXPECT_THAT(
        first_sentence(builder),
        AllOf(StartsWith("Waited 199 ms (99 %) for a lock of the database in ProcSleep "
                         "(WaitEventSetWait), which other (20) held; meanwhile other (20) waited "),
              HasSubstr(
                  "for its client in secure_read (WaitEventSetWait), until psql (30) woke it")));
}

// InnoDB's functions have no names; the timeout is innodb_lock_wait_timeout.
TEST(NamedWait, a_lock_of_a_row_in_mariadb_has_a_holder) {
    const std::string mariadbd = "!/usr/sbin/mariadbd!", unnamed = "?:/usr/sbin/mariadbd";
    const Stack handler{mariadbd + "do_command(THD*, bool)",
                        mariadbd + "handler::ha_rnd_next(unsigned char*)", unnamed, unnamed};
    const auto waits_in = [&](const std::string& function) {
        Stack stack = handler;
        stack.insert(stack.end(), {libc + function, "k:futex_wait", "k:schedule"});
        return sentence_of_wait(stack);
    };
    EXPECT_THAT(waits_in("pthread_cond_timedwait"),
                AllOf(HasSubstr("for a row lock of the database in handler::ha_rnd_next"),
                      HasSubstr("other (20) held")));
    EXPECT_THAT(waits_in("pthread_cond_wait"), HasSubstr("for a signal from another thread"));
}

// Thread 12 of the same process computes; only that it is busy is known.
TEST(NamedWait, a_lock_of_a_database_that_nobody_released_has_an_unknown_holder) {
    const auto sentence = [&](const Stack& stack, bool busy) {
        TraceBuilder builder = two_programs();
        builder.thread(10, 12, "connection");
        if (busy)
            builder.switched(2 * ms, 2, 0, 0, 12)
                .samples(3 * ms, 400 * ms, 2, 10, 12, {"main", "sort_rows"});
        builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, stack);
        builder.run(TraceBuilder::delay(1, "work", 9 * ms, 391 * ms, 10 * ms, 10, 11));
        return sentences_of(builder).at(0);
    };
    const std::string mariadbd = "!/usr/sbin/mariadbd!";
    const Stack row{mariadbd + "do_command(THD*, bool)",
                    mariadbd + "handler::ha_rnd_next(unsigned char*)",
                    libc + "pthread_cond_timedwait", "k:futex_wait", "k:schedule"};
    EXPECT_THAT(sentence(row, false),
                AllOf(HasSubstr("for a row lock of the database in handler::ha_rnd_next"),
                      HasSubstr("when the recording ended; its holder is unknown.")));
    EXPECT_THAT(
        sentence(row, true),
        AllOf(HasSubstr("its holder is unknown; the only other busy thread of its process"),
              HasSubstr("was connection (12): it computed for"), HasSubstr("in sort_rows")));
    EXPECT_THAT(
        sentence({"main", "ProcSleep", "WaitLatch", libc + "epoll_wait", "k:ep_poll", "k:schedule"},
                 false),
        HasSubstr("for a lock of the database in ProcSleep (WaitLatch), which was still going on "
                  "when the recording ended; its holder is unknown."));
}

TEST(NamedWait, a_poll_of_ruby_is_a_sleep_or_a_wait_for_a_mutex) {
    const std::string ruby = "!/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2!";
    const std::string unnamed = "?:/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2";
    const auto sentence_in = [&](const Stack& functions) {
        Stack stack{ruby + "ruby_run_node", ruby + "rb_vm_exec", unnamed};
        stack.insert(stack.end(), functions.begin(), functions.end());
        stack.insert(stack.end(), {unnamed, libc + "ppoll", "k:do_sys_poll", "k:schedule"});
        return sentence_of_wait(stack);
    };
    EXPECT_THAT(
        sentence_in({ruby + "rb_mutex_synchronize"}),
        HasSubstr(
            "for a lock in rb_mutex_synchronize (libruby-3.1) (ppoll), which other (20) held"));
    EXPECT_THAT(sentence_in({ruby + "rb_mutex_synchronize", ruby + "rb_ensure", ruby + "rb_yield",
                             ruby + "rb_vm_exec"}),
                StartsWith("Slept 200 ms (99 %), "));
    EXPECT_THAT(sentence_in({ruby + "rb_ensure"}), HasSubstr("for events"));
    EXPECT_THAT(sentence_in({ruby + "rb_io_wait"}), HasSubstr("for events in rb_io_wait"));
}

// Whoever wakes a thread of Go gives it a goroutine, and held nothing up.
TEST(NamedWait, a_thread_of_go_without_a_goroutine_waits_for_nobody) {
    for (const std::string wait : {"k:futex_wait", "k:ep_poll", "k:do_nanosleep"})
        EXPECT_THAT(sentence_of_wait({"runtime.newproc", "runtime.mcall", "runtime.findRunnable",
                                      "runtime.stopm", wait, "k:schedule"}),
                    AllOf(StartsWith("Waited 200 ms (99 %) for a goroutine that can run"),
                          Not(HasSubstr("newproc")), Not(HasSubstr("meanwhile"))))
            << wait;
    EXPECT_THAT(
        sentence_of_wait({"runtime.schedule", "runtime.lock2", "k:futex_wait", "k:schedule"}),
        HasSubstr("for a lock in runtime.schedule"));
}

TEST(NamedWait, a_thread_for_signals_waits_for_no_other_thread) {
    EXPECT_THAT(sentence_of_wait({"main", "handle_signals", libc + "sigwait", "k:do_sigtimedwait",
                                  "k:schedule"}),
                HasSubstr("for a signal (such as SIGCHLD) in handle_signals (sigwait)"));
}

// Threads 11 and 12 wait for mutexes when the recording ends, and their owners are known.
std::string sentence_of_owners(const std::map<std::uint32_t, std::uint32_t>& owners) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "other");
    const auto stack = [](const std::string& function) {
        return Stack{"main", function, libc + "pthread_mutex_lock", "k:futex_wait", "k:schedule"};
    };
    builder.off_cpu(0, 10, 12, stack("sell"));
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, stack("buy"));
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 390 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    EXPECT_TRUE(recording);
    recording->lock_owners = owners;
    trace::Delay delay = builder.system.delays.at(0);
    delay.open = true;
    delay.duration_ns = recording->end_ns - delay.begin_ns;
    return cause_sentences(causes_of_delay(*recording, delay)).at(0);
}

TEST(NamedWait, who_holds_a_mutex_when_the_recording_ends_may_be_known) {
    EXPECT_THAT(sentence_of_owners({}), HasSubstr("its holder is unknown"));
    EXPECT_THAT(sentence_of_owners({{11, 12}}),
                HasSubstr("for a lock in buy (pthread_mutex_lock), which other (12) holds; "
                          "meanwhile other (12) waited "));
    EXPECT_THAT(sentence_of_owners({{11, 12}, {12, 11}}),
                AllOf(HasSubstr("which other (12) holds; meanwhile other (12) waited "),
                      HasSubstr("for a lock in sell (pthread_mutex_lock), which worker (11) holds: "
                                "these threads wait for each other (a deadlock).")));
    EXPECT_THAT(sentence_of_owners({{11, 11}}), HasSubstr(", which it holds itself (a deadlock)."));
}

// The wakeup of 11 is missing; when the recording ends, it has run for long.
TEST(NamedWait, who_holds_a_mutex_when_the_recording_ends_is_not_blamed_for_earlier_waits) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "other");
    builder.switched(10 * ms, 0, 11, 1, 0);
    builder.off_cpu(10 * ms, 10, 11,
                    {"main", "buy", libc + "pthread_mutex_lock", "k:futex_wait", "k:schedule"});
    builder.switched(300 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 390 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    recording->lock_owners = {{11, 12}};
    trace::Delay delay = builder.system.delays.at(0);
    delay.open = true;
    delay.duration_ns = recording->end_ns - delay.begin_ns;
    const std::string sentence = cause_sentences(causes_of_delay(*recording, delay)).at(0);
    EXPECT_THAT(sentence, HasSubstr("for a lock in buy"));
    EXPECT_THAT(sentence, testing::Not(HasSubstr("(12)")));
}

// Thread 11 waits until the recording ends for what 12, which computes, should release or send.
struct OpenWait {
    Stack stack;
    std::uint32_t owner = 0;  // as the program's memory says
    bool timed_out = false;
    std::uint32_t waker_of_13 = 0;  // 13 waits for the same lock and gets it from this thread
    std::uint32_t also_busy = 0;
};

std::string sentence_of_open_wait(const OpenWait& wait) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "other").thread(10, 13, "third");
    const Stack sleeping{"main", "idle", "k:ep_poll", "k:schedule"};
    builder.switched(5 * ms, 0, 0, 0, 11).switched(5 * ms, 1, 0, 0, 12);
    builder.samples(5 * ms, 390 * ms, 1, 10, 12, {"main", "rebuild", "burn"});
    builder.off_cpu(1 * ms, 10, 13, wait.waker_of_13 != 0 ? wait.stack : sleeping,
                    wait.waker_of_13 != 0 ? 99 : 0);
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, wait.stack, 99, wait.owner);
    if (wait.waker_of_13 != 0)
        builder.waking(50 * ms, 1, wait.waker_of_13, 13).switched(51 * ms, 0, 0, 0, 13);
    if (wait.also_busy != 0) builder.switched(60 * ms, 0, 0, 0, wait.also_busy);
    if (wait.timed_out)
        builder.caused_waking(380 * ms, 0, 0, 11, 2).switched(380 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 390 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    EXPECT_TRUE(recording);
    trace::Delay delay = builder.system.delays.at(0);
    delay.open = !wait.timed_out;
    delay.duration_ns =
        (wait.timed_out ? recording->begin_ns + 381 * ms : recording->end_ns) - delay.begin_ns;
    return cause_sentences(causes_of_delay(*recording, delay)).at(0);
}

const Stack in_mutex{"main", "buy", libc + "pthread_mutex_lock", "k:futex_wait", "k:schedule"};
const Stack in_condition{"main", "buy", libc + "pthread_cond_wait", "k:futex_wait", "k:schedule"};

TEST(NamedWait, the_owner_of_a_mutex_is_in_its_memory) {
    EXPECT_THAT(sentence_of_open_wait({.stack = in_mutex, .owner = 12}),
                HasSubstr("for a lock in buy (pthread_mutex_lock), which other (12) holds; "
                          "meanwhile other (12) computed for "));
    EXPECT_THAT(
        sentence_of_open_wait({.stack = in_mutex, .owner = 12, .timed_out = true}),
        HasSubstr(
            ", which other (12) held, until it timed out; meanwhile other (12) computed for "));
}

TEST(NamedWait, memory_is_not_believed_if_it_names_a_thread_of_another_program) {
    const std::string sentence = sentence_of_open_wait({.stack = in_mutex, .owner = 20});
    EXPECT_THAT(sentence, Not(HasSubstr("(20)")));
    EXPECT_THAT(sentence,
                HasSubstr("its holder is unknown; the only other busy thread of its process, "
                          "perhaps with unrelated work, was other (12): it computed for "));
}

TEST(NamedWait, an_owner_that_passed_the_lock_on_has_it_no_more) {
    EXPECT_THAT(sentence_of_open_wait({.stack = in_mutex, .owner = 12, .waker_of_13 = 12}),
                HasSubstr(", which third (13) held for "));
}

TEST(NamedWait, a_signal_that_never_comes_may_be_unrelated_to_the_only_busy_thread) {
    const std::string hint =
        "; the only other busy thread of its process, perhaps with unrelated work, was other (12)";
    EXPECT_THAT(sentence_of_open_wait({.stack = in_condition}),
                AllOf(HasSubstr(", which was still going on when the recording ended" + hint +
                                ": it computed "),
                      HasSubstr(" in burn, called by rebuild"), Not(HasSubstr("meanwhile"))));
    EXPECT_THAT(sentence_of_open_wait({.stack = in_condition, .timed_out = true}),
                HasSubstr(", until it timed out" + hint));
    EXPECT_THAT(sentence_of_open_wait({.stack = in_condition, .also_busy = 13}),
                Not(HasSubstr("(12)")));
}

// Thread 11 reads from a pipe; process 20, with the only thread of that number, has the other end.
TEST(NamedWait, the_process_at_the_other_end_of_a_pipe_is_followed) {
    TraceBuilder builder = two_programs();
    builder.switched(5 * ms, 0, 0, 0, 11).switched(5 * ms, 1, 0, 0, 20);
    builder.samples(5 * ms, 390 * ms, 1, 20, 20, {"main", "rebuild", "burn"});
    builder.wait_file(10 * ms, 0, 11, 14, "", "", 0, 0, 77);
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "load", libc + "read", "k:pipe_read"});
    builder.wait_file(395 * ms, 0, 0, 11, "", "", 0, 10, 77)
        .wait_file(395 * ms, 0, 0, 11, "", "", 0, 20, 77);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 390 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    trace::Delay delay = builder.system.delays.at(0);
    delay.open = true;
    delay.duration_ns = recording->end_ns - delay.begin_ns;
    EXPECT_THAT(cause_sentences(causes_of_delay(*recording, delay)).at(0),
                HasSubstr("on a pipe shared with other (20) in load (read), which was still going "
                          "on when the recording ended; meanwhile other (20) computed for "));
}

// Thread 11 reads from a pipe whose other end process 20 has, with two threads: 20 sleeps, 21
// computes.
TEST(NamedWait, the_only_busy_thread_at_the_other_end_may_be_unrelated) {
    TraceBuilder builder = two_programs();
    builder.thread(20, 21, "statistics");
    builder.switched(5 * ms, 0, 0, 0, 11).switched(5 * ms, 1, 20, 1, 21);
    builder.off_cpu(5 * ms, 20, 20, {"main", "idle", "k:ep_poll", "k:schedule"});
    builder.samples(5 * ms, 390 * ms, 1, 20, 21, {"main", "count", "burn"});
    builder.wait_file(10 * ms, 0, 11, 14, "", "", 0, 0, 77);
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "load", libc + "read", "k:pipe_read"});
    builder.wait_file(395 * ms, 0, 0, 11, "", "", 0, 10, 77)
        .wait_file(395 * ms, 0, 0, 11, "", "", 0, 20, 77);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 390 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    trace::Delay delay = builder.system.delays.at(0);
    delay.open = true;
    delay.duration_ns = recording->end_ns - delay.begin_ns;
    const DelayCauses causes = causes_of_delay(*recording, delay);
    EXPECT_THAT(
        cause_sentences(causes).at(0),
        HasSubstr("on a pipe shared with other (20) in load (read), which was still going on when "
                  "the recording ended; the only busy thread at the other end, perhaps with "
                  "unrelated work, was statistics (21) of other (20): it computed for "));
    ASSERT_EQ(causes.causes.at(0).chain.size(), 1U);
    EXPECT_TRUE(causes.causes.at(0).chain.front().likely);
}

// Thread 11 waits for a condition twice: 13 ends the first wait; the second, longer one times out
// while only 12 computes.
TEST(NamedWait, nobody_is_guessed_if_a_thread_ended_another_of_the_waits) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "other")
        .thread(10, 13, "third")
        .switched(5 * ms, 0, 0, 0, 11)
        .switched(5 * ms, 1, 0, 0, 13);
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, in_condition);
    builder.waking(60 * ms, 1, 13, 11)
        .switched(60 * ms, 0, 0, 0, 11)
        .switched(60 * ms, 1, 13, 1, 12);
    builder.samples(61 * ms, 390 * ms, 1, 10, 12, {"main", "rebuild", "burn"});
    builder.switched(61 * ms, 0, 11, 1, 0).off_cpu(61 * ms, 10, 11, in_condition);
    builder.caused_waking(200 * ms, 0, 0, 11, 2).switched(200 * ms, 0, 0, 0, 11);
    EXPECT_THAT(first_sentence(builder), AllOf(HasSubstr("for a signal from another thread in buy"),
                                               Not(HasSubstr("(12)"))));
}

// A worker of the kernel hands on what 20 wrote.
TEST(NamedWait, a_worker_of_the_kernel_is_not_to_blame) {
    TraceBuilder builder = two_programs();
    builder.process(40, "", 2).thread(40, 40, "kworker/0:1");
    builder.off_cpu(1 * ms, 40, 40, {"k:worker_thread", "k:schedule"});
    builder.switched(5 * ms, 0, 0, 0, 11).switched(5 * ms, 1, 0, 0, 20);
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "log", libc + "write", "k:n_tty_write"});
    builder.waking(200 * ms, 1, 20, 40).switched(200 * ms, 0, 0, 0, 40);
    builder.waking(201 * ms, 0, 40, 11).switched(201 * ms, 0, 40, 1, 11);
    EXPECT_THAT(first_sentence(builder),
                AllOf(HasSubstr("until other (20) read from it"), Not(HasSubstr("kworker"))));
}

// The worker computes for most of the wait.
TEST(NamedWait, a_worker_of_the_kernel_that_was_busy_is_to_blame) {
    TraceBuilder builder = two_programs();
    builder.process(40, "", 2).thread(40, 40, "kworker/0:1");
    builder.off_cpu(1 * ms, 40, 40, {"k:worker_thread", "k:schedule"});
    builder.switched(5 * ms, 0, 0, 0, 11).switched(5 * ms, 1, 0, 0, 20);
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "log", libc + "write", "k:n_tty_write"});
    builder.waking(20 * ms, 1, 20, 40).switched(20 * ms, 0, 0, 0, 40);
    builder.waking(201 * ms, 0, 40, 11).switched(201 * ms, 0, 40, 1, 11);
    EXPECT_THAT(first_sentence(builder),
                AllOf(HasSubstr("kworker/0:1"), Not(HasSubstr("until other"))));
}

TEST(NamedWait, sqlite_sleeps_until_it_gets_a_lock) {
    EXPECT_THAT(
        sentence_of_wait({"main", "insert", "sqlite3_step", "sqlite3BtreeBeginTrans",
                          "sqlite3InvokeBusyHandler", "unixSleep", libc + "usleep",
                          "k:hrtimer_nanosleep"}),
        HasSubstr(
            " for a lock of the database in sqlite3BtreeBeginTrans (sqlite3InvokeBusyHandler)"));
}

// Helpers that wait for their callers are not the place.
TEST(NamedWait, the_place_is_the_function_that_knows_for_what_it_waits) {
    EXPECT_THAT(sentence_of_wait({"main", "PostgresMain", "pg_sleep", "WaitLatch",
                                  "WaitEventSetWait", "k:ep_poll"}),
                HasSubstr(" in pg_sleep (WaitLatch)"));
    EXPECT_THAT(sentence_of_wait({"WaitEventSetWait", "k:ep_poll"}),
                HasSubstr(" in WaitEventSetWait"));
}

}  // namespace
}  // namespace lagtrap::analysis::named_wait_tests
