// The causes that a report names, for recordings with a known cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_cause.hpp"
#include "analysis/delay_report.hpp"
#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::delay_cause_tests {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

// A thread blocks at `from` in `stack`, is woken by `waker` at `until`, and runs again at once on
// `cpu`.
void wait(TraceBuilder& builder, std::uint32_t cpu, std::uint32_t tid, std::uint64_t from,
          std::uint64_t until, const TraceBuilder::Stack& stack, std::uint32_t waker,
          bool by_interrupt = false, std::uint64_t object = 0) {
    builder.switched(from, cpu, tid, 1, 0).off_cpu(from, 10, tid, stack, object);
    builder.waking(until, cpu, waker, tid, by_interrupt).switched(until, cpu, 0, 0, tid);
}

TraceBuilder::Stack in_lock(const std::string& function) {
    return {"clone3",
            "start_thread",
            function,
            "?:/usr/lib/x86_64-linux-gnu/libc.so.6",
            "___pthread_mutex_lock",
            "__lll_lock_wait",
            "k:futex_wait",
            "k:schedule"};
}

// 11 waits for 12, which waits for 13, which computes all the time.
TraceBuilder chain_of_locks() {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "second");
    builder.thread(10, 13, "third");
    for (std::uint32_t i = 0; i < 3; ++i) builder.switched(1 * ms, i, 0, 0, 11 + i);
    builder.samples(2 * ms, 300 * ms, 2, 10, 13, {"clone3", "start_thread", "third_holds_c"});
    wait(builder, 1, 12, 5 * ms, 290 * ms, in_lock("second_wants_c"), 13);
    wait(builder, 0, 11, 20 * ms, 291 * ms, in_lock("first_wants_b"), 12);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 273 * ms, 10 * ms, 10, 11));
    return builder;
}

// The thread on the CPU when the timer fired did not cause anything.
TEST(DelayCause, a_wait_that_timed_out_names_nobody) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(20, 20, "bystander");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(2 * ms, 1, 0, 0, 20)
        .switched(20 * ms, 0, 10, 1, 0);
    builder.off_cpu(20 * ms, 10, 10, {"main", "serve", "epoll_wait", "k:ep_poll", "k:schedule"});
    builder.caused_waking(220 * ms, 1, 20, 10, 2, "").switched(220 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 200 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder),
                ElementsAre(AllOf(HasSubstr("for events"), HasSubstr(", until it timed out."),
                                  Not(HasSubstr("bystander")))));
}

TEST(DelayCause, a_quota_is_told_for_certain) {
    TraceBuilder builder(400 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(20, 20, "other");
    builder.switched(1 * ms, 0, 0, 0, 10).throttled_switch(20 * ms, 0, 10, 20, true);
    builder.throttled_switch(220 * ms, 0, 20, 10, false, 20 * ms, 220 * ms);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 200 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder),
        ElementsAre(
            "Waited 200 ms (100 %) for a CPU: its control group had used up its CPU quota."));
}

TEST(DelayCause, follows_a_chain_of_locks_to_its_end) {
    const TraceBuilder builder = chain_of_locks();
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const DelayCauses causes = causes_of_delay(*recording, builder.system.delays[0]);
    ASSERT_FALSE(causes.causes.empty());
    const DelayCause& cause = causes.causes.front();
    EXPECT_EQ(cause.doing.wait, WaitKind::Lock);
    EXPECT_EQ(cause.doing.time_ns, 271 * ms);
    EXPECT_EQ(cause.doing.focus.place.function, "first_wants_b");
    ASSERT_EQ(cause.chain.size(), 2);
    EXPECT_EQ(cause.chain[0].who.tid, 12);
    EXPECT_EQ(cause.chain[1].who.tid, 13);
    EXPECT_EQ(cause.chain[1].doings[0].kind, TimeKind::OnCpu);
    EXPECT_THAT(cause_sentences(causes),
                testing::ElementsAre(
                    "Waited 271 ms (99 %) for a lock in first_wants_b (pthread_mutex_lock), until "
                    "second (12) released it; meanwhile second (12) waited 270 ms for a lock in "
                    "second_wants_c (pthread_mutex_lock), which third (13) held; meanwhile third "
                    "(13) computed for 270 ms in third_holds_c."));
}

// The holder computed only shortly, but that was what others were waiting for.
TEST(DelayCause, of_a_holder_that_waited_for_a_cpu_it_is_told_what_it_was_at) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "holder");
    builder.process(30, "/bin/cc").thread(30, 30, "cc1plus");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 12);
    builder.samples(21 * ms, 30 * ms, 1, 10, 12, {"clone3", "start_thread", "holds_it"});
    builder.switched(30 * ms, 1, 12, 0, 30).switched(260 * ms, 1, 30, 0, 12);
    wait(builder, 0, 11, 20 * ms, 261 * ms, in_lock("look_up"), 12);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 243 * ms, 10 * ms, 10, 11));
    EXPECT_THAT(sentences_of(builder).at(0),
                "Waited 241 ms (99 %) for a lock in look_up (pthread_mutex_lock), which holder "
                "(12) held; meanwhile holder (12) waited 230 ms for a CPU while cc1plus (30) had "
                "CPU 1 and computed for 11.0 ms in holds_it.");
}

TEST(DelayCause, a_holder_that_sleeps_is_said_to_sleep) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "holder");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 12);
    wait(builder, 1, 12, 5 * ms, 250 * ms,
         {"clone3", "start_thread", "refresh_all", "k:do_nanosleep", "k:schedule"}, 0, true);
    wait(builder, 0, 11, 20 * ms, 251 * ms, in_lock("look_up"), 12);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 233 * ms, 10 * ms, 10, 11));
    EXPECT_THAT(
        sentences_of(builder).at(0),
        "Waited 231 ms (99 %) for a lock in look_up (pthread_mutex_lock), which holder (12) held; "
        "meanwhile holder (12) slept 230 ms in refresh_all, until its timer expired.");
}

TEST(DelayCause, a_wait_for_the_disk_names_file_disk_and_queue) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.wait_file(20 * ms, 0, 10, 1, "/var/lib/app/log", "vda", 12);
    wait(builder, 0, 10, 20 * ms, 220 * ms,
         {"main", "save", "fsync", "k:ext4_sync_file", "k:schedule"}, 0, true);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder).at(0),
        HasSubstr(
            "for the disk in fsync (/var/lib/app/log on vda, which had 12 requests in its queue)"));
}

// A fast disk: the kernel spends more time on the faults than the thread waits.
TEST(DelayCause, computing_in_page_faults_names_the_file_that_they_wait_for) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    const TraceBuilder::Stack fault{"main", "sum_rows", "k:asm_exc_page_fault", "k:exc_page_fault"};
    const auto below = [&](const char* function) {
        TraceBuilder::Stack stack = fault;
        stack.push_back(function);
        return stack;
    };
    builder.samples(20 * ms, 100 * ms, 0, 10, 10, below("k:next_uptodate_page"));
    builder.wait_file(100 * ms, 0, 10, 2, "/var/lib/app/table", "vda", 1);
    wait(builder, 0, 10, 100 * ms, 160 * ms, below("k:filemap_fault"), 0, true);
    builder.samples(162 * ms, 238 * ms, 0, 10, 10, below("k:clear_page_erms"));
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 220 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder),
        ElementsAre(
            "Computed for 160 ms (73 %) in page faults of the kernel, called by sum_rows "
            "(/var/lib/app/table on vda).",
            HasSubstr(
                "for a page of memory (page fault) in sum_rows (/var/lib/app/table on vda)")));
}

TEST(DelayCause, computing_in_page_faults_of_fresh_memory_names_no_file) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    for (std::uint64_t time = 20; time < 220; time += 2)
        builder.samples(
            time * ms, (time + 1) * ms, 0, 10, 10,
            {"main", "fill", "k:asm_exc_page_fault", "k:exc_page_fault", "k:clear_page_erms"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 200 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                "Computed for 200 ms (100 %) in page faults of the kernel (clear_page_erms), "
                "called by fill.");
}

// The holder stopped before the recording began, so none of its switches was recorded.
TEST(DelayCause, a_file_lock_that_nobody_releases_names_its_holder) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/usr/bin/backup")
        .thread(30, 30, "backup");
    builder.wait_file(1 * ms, 0, 10, 3, "/var/lib/app/lock", "vda", 0, 30);
    builder.off_cpu(0, 10, 10, {"main", "enter", "flock", "k:locks_lock_inode_wait", "k:schedule"});
    builder.switched(30 * ms, 0, 0, 0, 30);
    builder.run(TraceBuilder::delay(1, "work", at(0), 400 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                HasSubstr("for a lock on /var/lib/app/lock in flock, which backup (30) holds; "
                          "meanwhile backup (30) computed for 370 ms"));
}

// An alarm interrupts the wait, as in a mail server.
TEST(DelayCause, a_file_lock_that_a_timer_gave_up_names_its_holder) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/usr/bin/backup")
        .thread(30, 30, "backup");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .wait_file(20 * ms, 0, 10, 3, "/var/mail/joe", "vda", 0, 30);
    builder.off_cpu(20 * ms, 10, 10, {"main", "lock", "fcntl", "k:fcntl_setlk", "k:schedule"});
    builder.switched(20 * ms, 0, 10, 1, 0)
        .caused_waking(220 * ms, 0, 0, 10, 3)
        .switched(220 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                AllOf(HasSubstr("for a lock on /var/mail/joe in fcntl"),
                      HasSubstr(", until a timer ended the wait; backup (30) held it")));
}

TEST(DelayCause, a_sleep_after_a_refused_lock_names_who_had_it) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/usr/bin/writer")
        .thread(30, 30, "writer");
    builder.switched(1 * ms, 0, 0, 0, 10).wait_file(20 * ms, 0, 10, 4, "/srv/data.db", "", 0, 30);
    wait(builder, 0, 10, 20 * ms, 220 * ms,
         {"main", "retry", "usleep", "k:do_nanosleep", "k:schedule"}, 0, true);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder).at(0),
        HasSubstr("; before, it had been refused a lock on /srv/data.db, which writer (30) held"));
}

// The file of another wait is unrelated.
TEST(DelayCause, a_wait_of_another_kind_has_no_file) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.wait_file(20 * ms, 0, 10, 4, "/srv/data.db", "", 0, 30);
    wait(builder, 0, 10, 20 * ms, 220 * ms, in_lock("look_up"), 0);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0), Not(HasSubstr("data.db")));
}

// A loop around poll with its own timeout: the answer ended all of these waits.
TEST(DelayCause, a_wait_begun_again_after_its_timeout_is_ended_by_who_ended_the_last) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/usr/bin/server")
        .thread(30, 30, "server");
    const TraceBuilder::Stack poll{"main", "fetch", "poll", "k:do_sys_poll", "k:schedule"};
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 30);
    builder.samples(2 * ms, 300 * ms, 1, 30, 30, {"main", "answer_slowly"});
    builder.switched(20 * ms, 0, 10, 1, 0).off_cpu(20 * ms, 10, 10, poll);
    builder.caused_waking(200 * ms, 0, 0, 10, 2).switched(200 * ms, 0, 0, 0, 10);
    builder.switched(201 * ms, 0, 10, 1, 0).off_cpu(201 * ms, 10, 10, poll);
    builder.caused_waking(230 * ms, 1, 30, 10, 1).switched(230 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 210 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                AllOf(HasSubstr("Waited 209 ms"), HasSubstr("until server (30) woke it"),
                      HasSubstr("in answer_slowly")));
}

// Nobody ended the first wait, which was at another place, and one thread the second, longer one.
TEST(DelayCause, whoever_alone_ended_half_of_the_waits_is_followed) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/usr/bin/server")
        .thread(30, 30, "server");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 30);
    builder.samples(2 * ms, 300 * ms, 1, 30, 30, {"main", "answer_slowly"});
    builder.switched(20 * ms, 0, 10, 1, 0)
        .off_cpu(20 * ms, 10, 10, {"main", "try", "poll", "k:do_sys_poll", "k:schedule"});
    builder.caused_waking(120 * ms, 0, 0, 10, 2).switched(120 * ms, 0, 0, 0, 10);
    builder.switched(121 * ms, 0, 10, 1, 0)
        .off_cpu(121 * ms, 10, 10, {"main", "fetch", "poll", "k:do_sys_poll", "k:schedule"});
    builder.caused_waking(230 * ms, 1, 30, 10, 1).switched(230 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 210 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                AllOf(HasSubstr("server (30)"), HasSubstr("in answer_slowly")));
}

// Similar workers share what the thread waits for: no single one has most of it, but together they
// do.
TEST(DelayCause, threads_of_one_name_are_followed_together) {
    TraceBuilder builder(400 * ms, 3);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "worker")
        .thread(10, 12, "worker");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(1 * ms, 1, 0, 0, 11)
        .switched(1 * ms, 2, 0, 0, 12);
    builder.samples(2 * ms, 300 * ms, 1, 10, 11, {"clone3", "start_thread", "scan_archive"});
    builder.samples(2 * ms, 300 * ms, 2, 10, 12, {"clone3", "start_thread", "scan_archive"});
    wait(builder, 0, 10, 20 * ms, 125 * ms, in_lock("look_up"), 11);
    wait(builder, 0, 10, 126 * ms, 220 * ms, in_lock("look_up"), 12);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                AllOf(HasSubstr("until worker (11) and another thread with that name released it"),
                      HasSubstr("computed for 105 ms in scan_archive")));
}

TEST(DelayCause, locks_of_standard_libraries_are_told_apart) {
    const auto reported = [](const std::string& function) {
        TraceBuilder builder(400 * ms, 1);
        builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
        wait(builder, 0, 10, 20 * ms, 220 * ms,
             {"main", "serve", function, "k:futex_wait", "k:schedule"}, 0);
        builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
        return sentences_of(builder).at(0);
    };
    EXPECT_THAT(reported("std::counting_semaphore<2l>::acquire()"),
                HasSubstr("for a semaphore in serve"));
    EXPECT_THAT(reported("std::sys::unix::locks::futex::Mutex::lock_contended"),
                HasSubstr("for a lock in serve"));
    EXPECT_THAT(reported("std::sys::sync::condvar::futex::Condvar::wait"),
                HasSubstr("for a signal from another thread in serve"));
}

// 13 computes while it holds the lock until 200 ms. Then the lock passes through 12 and 14 to 11, a
// millisecond each.
TraceBuilder queue_for(const TraceBuilder::Stack& stack, std::uint64_t object) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "worker");
    builder.thread(10, 13, "holder").thread(10, 14, "worker");
    for (std::uint32_t i = 0; i < 4; ++i) builder.switched(1 * ms, i, 0, 0, 11 + i);
    builder.samples(2 * ms, 300 * ms, 2, 10, 13, {"clone3", "start_thread", "rebuild"});
    wait(builder, 1, 12, 10 * ms, 200 * ms, stack, 13, false, object);
    wait(builder, 3, 14, 12 * ms, 201 * ms, stack, 12, false, object);
    wait(builder, 0, 11, 20 * ms, 202 * ms, stack, 14, false, object);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 184 * ms, 10 * ms, 10, 11));
    return builder;
}

TEST(DelayCause, threads_that_waited_for_the_same_lock_are_no_links) {
    const TraceBuilder builder = queue_for(in_lock("look_up"), 77);
    EXPECT_THAT(sentences_of(builder).at(0),
                "Waited 182 ms (99 %) for a lock in look_up (pthread_mutex_lock), which holder "
                "(13) held for 180 ms; 2 other threads got it before this one; meanwhile holder "
                "(13) computed for 180 ms in rebuild.");
    const auto recording = builder.decode();
    const DelayCauses causes = causes_of_delay(*recording, builder.system.delays[0]);
    ASSERT_EQ(causes.causes.at(0).chain.size(), 1);
    EXPECT_EQ(causes.causes[0].doing.count, 1);
    EXPECT_EQ(report_delay(*recording, builder.system.delays[0]).wakers.at(0).tid, 13);
}

// Threads that wait for a monitor of Java sleep on a futex of their own.
TEST(DelayCause, threads_that_waited_for_the_same_monitor_are_no_links) {
    const TraceBuilder::Stack in_monitor{"clone3",
                                         "thread_entry",
                                         "InterpreterRuntime::monitorenter",
                                         "ObjectMonitor::enter",
                                         "os::PlatformEvent::park",
                                         "pthread_cond_wait",
                                         "k:futex_wait",
                                         "k:schedule"};
    EXPECT_THAT(sentences_of(queue_for(in_monitor, 0)).at(0),
                HasSubstr("for a lock in InterpreterRuntime::monitorenter (ObjectMonitor::enter), "
                          "which holder (13) held for 180 ms; 2 other threads got it before this "
                          "one; meanwhile holder (13) computed"));
}

// With a different lock each, the chain goes through all of them.
TEST(DelayCause, threads_that_waited_for_other_locks_are_links) {
    EXPECT_THAT(sentences_of(queue_for(in_lock("look_up"), 0)).at(0),
                HasSubstr("until worker (12) released it"));
}

// 14 never waited for the lock, so there is no wait that shows it got the lock after others.
TEST(DelayCause, a_thread_that_got_the_lock_in_passing_did_not_hold_it_all_the_time) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "worker");
    builder.thread(10, 13, "holder").thread(10, 14, "passer");
    for (std::uint32_t i = 0; i < 4; ++i) builder.switched(1 * ms, i, 0, 0, 11 + i);
    builder.samples(2 * ms, 300 * ms, 2, 10, 13, {"clone3", "start_thread", "rebuild"});
    wait(builder, 1, 12, 10 * ms, 200 * ms, in_lock("look_up"), 13, false, 77);
    wait(builder, 0, 11, 20 * ms, 201 * ms, in_lock("look_up"), 14, false, 77);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 183 * ms, 10 * ms, 10, 11));
    EXPECT_THAT(
        sentences_of(builder).at(0),
        AllOf(HasSubstr("which holder (13) held for 180 ms; 1 other thread got it before this one"),
              Not(HasSubstr("passer"))));
}

TEST(DelayCause, what_is_handed_on_by_signals_is_followed_to_who_had_it_longest) {
    const TraceBuilder::Stack in_signal{"main", "take_slot", "___pthread_cond_wait", "k:futex_wait",
                                        "k:schedule"};
    EXPECT_THAT(sentences_of(queue_for(in_signal, 77)).at(0),
                HasSubstr("for a signal from another thread in take_slot (pthread_cond_wait), "
                          "until 2 other threads had handed it on; holder (13) had it for 180 ms; "
                          "meanwhile holder (13) computed for 180 ms in"));
}

// File locks are identified by their file.
TEST(DelayCause, file_locks_are_followed_through_those_who_waited_for_them) {
    const TraceBuilder::Stack in_flock{"main", "enter", "flock", "k:locks_lock_inode_wait",
                                       "k:schedule"};
    TraceBuilder builder = queue_for(in_flock, 0);
    for (const auto& [at_ms, tid] : {std::pair{10, 12U}, {12, 14U}, {20, 11U}})
        builder.wait_file(at_ms * ms, 0, tid, 3, "/run/app.lock");
    EXPECT_THAT(
        sentences_of(builder).at(0),
        HasSubstr("for a lock on /run/app.lock in flock, which holder (13) held for 180 ms; 2 "
                  "other threads got it before this one; meanwhile holder (13) computed"));
}

// 11 waits for a lock whose holder waits for another lock.
TEST(DelayCause, who_waits_for_another_lock_holds_the_first) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "second");
    builder.thread(10, 13, "third");
    for (std::uint32_t i = 0; i < 3; ++i) builder.switched(1 * ms, i, 0, 0, 11 + i);
    builder.samples(2 * ms, 300 * ms, 2, 10, 13, {"clone3", "start_thread", "third_holds_c"});
    wait(builder, 1, 12, 5 * ms, 290 * ms, in_lock("second_wants_c"), 13, false, 78);
    wait(builder, 0, 11, 20 * ms, 291 * ms, in_lock("first_wants_b"), 12, false, 77);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 273 * ms, 10 * ms, 10, 11));
    EXPECT_THAT(sentences_of(builder).at(0),
                HasSubstr("which second (12) held; meanwhile second (12) waited 270 ms"));
}

// A thread that signals a condition variable does not hold a lock.
TEST(DelayCause, a_signal_is_no_lock) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 12, "producer");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 12);
    builder.samples(2 * ms, 300 * ms, 1, 10, 12, {"clone3", "start_thread", "produce"});
    wait(builder, 0, 10, 20 * ms, 220 * ms,
         {"main", "await", "___pthread_cond_wait", "k:futex_wait", "k:schedule"}, 12);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder).at(0),
        "Waited 200 ms (99 %) for a signal from another thread in await (pthread_cond_wait), until "
        "producer (12) gave it; meanwhile producer (12) computed for 200 ms in produce.");
}

TEST(DelayCause, whoever_an_interrupt_hit_is_not_named) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(20, "/bin/cc")
        .thread(20, 20, "cc1plus");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 20);
    builder.samples(2 * ms, 300 * ms, 1, 20, 20, {"main", "compile"});
    wait(builder, 0, 10, 20 * ms, 220 * ms,
         {"main", "await", "epoll_wait", "k:ep_poll", "k:schedule"}, 20, true);
    builder.run(TraceBuilder::delay(1, "work", at(19 * ms), 202 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                AllOf(HasSubstr("for events in"), Not(HasSubstr("cc1plus"))));
}

TEST(DelayCause, several_causes_and_the_rest_account_for_the_delay) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(20 * ms, 140 * ms, 0, 10, 10, {"main", "parse_all"});
    wait(builder, 0, 10, 140 * ms, 220 * ms,
         {"main", "save", "!/usr/lib/x86_64-linux-gnu/libc.so.6!fsync", "k:ext4_sync_file",
          "k:io_schedule"},
         0, true);
    wait(builder, 0, 10, 221 * ms, 290 * ms, {"main", "nap", "k:do_nanosleep", "k:schedule"}, 0,
         true);
    wait(builder, 0, 10, 291 * ms, 296 * ms, {"main", "say", "k:pipe_write", "k:schedule"}, 0,
         true);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 276 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder),
                testing::ElementsAre("Computed for 122 ms (44 %) in parse_all.",
                                     "Waited 80.0 ms (29 %) for the disk in save (fsync).",
                                     "Slept 69.0 ms (25 %) in nap, until its timer expired.",
                                     "The rest: 5.00 ms blocked."));
}

// An inlined helper from a header is called from everywhere, so its caller says more.
TEST(DelayCause, a_function_of_a_header_is_named_with_its_caller) {
    TraceBuilder builder(250 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(240 * ms, 0, 10, 0, 11);
    builder.samples(
        0, 240 * ms, 0, 10, 10,
        {"main@app.cpp:9", "rebuild_index@app.cpp:5", "for_each@loops.hpp:3", "mix@mix.h:7"});
    builder.run(TraceBuilder::delay(1, "work", at(10 * ms), 200 * ms, 50 * ms, 10, 10));
    EXPECT_EQ(sentences_of(builder).at(0),
              "Computed for 200 ms (100 %) in mix, called by rebuild_index.");
}

TEST(DelayCause, says_what_is_not_known_and_why) {
    TraceBuilder builder(250 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(240 * ms, 0, 10, 0, 11);
    builder.samples(0, 240 * ms, 0, 10, 10, {"main", "spin"});
    builder.run(TraceBuilder::delay(1, "never", -at(100 * ms), 340 * ms, 50 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder),
                testing::ElementsAre("Computed for 240 ms (71 %) in spin.",
                                     "100 ms (29 %) had passed before the recording began."));
}

TEST(DelayCause, a_lock_that_was_never_released_has_no_known_holder) {
    TraceBuilder builder(250 * ms, 1);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .switched(1 * ms, 0, 0, 0, 10)
        .switched(10 * ms, 0, 10, 1, 0);
    builder.off_cpu(10 * ms, 10, 10, in_lock("take"));
    auto delay = TraceBuilder::delay(1, "never", at(9 * ms), 241 * ms, 50 * ms, 10, 10);
    delay.open = true;
    builder.run(delay);
    EXPECT_THAT(sentences_of(builder).at(0),
                HasSubstr("was still going on when the recording ended; its holder is unknown"));
}

// One thread began the run and another ended it, and nothing shows when it was handed over.
TEST(DelayCause, the_thread_that_ended_a_run_is_said_to_have_worked_at_it_without_certainty) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 12, "worker");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 12);
    builder.samples(3 * ms, 300 * ms, 1, 10, 12, {"clone3", "start_thread", "resize_image"});
    auto delay = TraceBuilder::delay(1, "job", at(20 * ms), 200 * ms, 10 * ms, 10, 10);
    delay.end_tid = 12;
    builder.run(delay);
    EXPECT_THAT(
        sentences_of(builder).at(0),
        "For 200 ms (100 %), it is not known which thread had the run: it passed from app (10) to "
        "worker (12) between its begin and 200 ms, at a moment that no marker shows; in that time "
        "worker (12), which ended it, computed for 200 ms in resize_image.");
}

TEST(DelayCause, hand_overs_are_told_with_their_times) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 12, "worker");
    auto delay = TraceBuilder::delay(1, "job", at(20 * ms), 200 * ms, 10 * ms, 10, 10);
    delay.stages = {{"sent", 20 * ms, 10}, {"taken", 120 * ms, 12}, {"back", 150 * ms, 10}};
    builder.run(delay);
    EXPECT_THAT(sentences_of(builder).at(0),
                "For 130 ms (65 %), it is not known which thread had the run: it passed from app "
                "(10) to worker (12) between 20.0 ms and 120 ms after its begin, at a moment that "
                "no marker shows, and did so 1 more time.");
}

trace::Delay delay_before(TraceBuilder& builder) {
    auto delay = TraceBuilder::delay(1, "query", -90 * std::int64_t{ms}, 100 * ms, 50 * ms, 10, 10);
    delay.so_far.tid = 10;
    delay.so_far.until_offset_ns = 90 * ms;
    delay.so_far.on_cpu_ns = 10 * ms;
    delay.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 80 * ms;
    delay.so_far.waits = {
        {5 * ms, 80 * ms, LAGTRAP_WAIT_LOCK, LAGTRAP_WAKER_THREAD, 10, 12, "holder"}};
    builder.run(delay);
    return delay;
}

// For a wait before the recording, only the thread that ended it is known.
TEST(DelayCause, a_wait_before_the_recording_names_who_ended_it) {
    TraceBuilder builder(30 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 12, "worker");
    builder.switched(1 * ms, 0, 0, 0, 10);
    (void)delay_before(builder);
    EXPECT_THAT(sentences_of(builder).at(0),
                "Waited 80.0 ms (80 %) on a futex (a lock or a signal), until worker (12) woke it; "
                "what it did meanwhile was not recorded.");
}

TEST(DelayCause, a_thread_that_was_gone_when_the_recording_began_is_named_all_the_same) {
    TraceBuilder builder(30 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.switched(1 * ms, 0, 0, 0, 10);
    (void)delay_before(builder);
    EXPECT_THAT(
        sentences_of(builder).at(0),
        "Waited 80.0 ms (80 %) on a futex (a lock or a signal), until holder (12) woke it.");
}

}  // namespace
}  // namespace lagtrap::analysis::delay_cause_tests
