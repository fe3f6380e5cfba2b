// The threads of a process, each reported as if its part of the recording were a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/thread_runs.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::thread_runs_tests {
namespace {

using test::TraceBuilder;
using testing::HasSubstr;
constexpr std::uint64_t ms = TraceBuilder::ms;

TraceBuilder::Stack in_thread(const std::string& function, const std::vector<std::string>& more) {
    TraceBuilder::Stack stack{"clone3", "start_thread", function};
    stack.insert(stack.end(), more.begin(), more.end());
    return stack;
}

const TraceBuilder::Stack in_event_loop =
    in_thread("serve", {"epoll_wait", "k:ep_poll", "k:schedule"});
const TraceBuilder::Stack in_lock =
    in_thread("sell", {"___pthread_mutex_lock", "__lll_lock_wait", "k:futex_wait", "k:schedule"});

// 10 joins; 11 and 12 wait for a lock all the time; 13 waits for events; 14 computes; 20 is another
// process.
TraceBuilder shop() {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/shop --fast").thread(10, 10, "shop").thread(10, 11, "seller-1");
    builder.thread(10, 12, "seller-2")
        .thread(10, 13, "loop")
        .thread(10, 14, "packer")
        .thread(20, 20, "other");
    builder.off_cpu(0, 10, 11, in_lock)
        .off_cpu(0, 10, 12, in_lock)
        .off_cpu(0, 10, 13, in_event_loop);
    builder.switched(0, 0, 0, 0, 14)
        .samples(1 * ms, 399 * ms, 0, 10, 14, {"clone3", "start_thread", "pack"});
    builder.switched(0, 1, 0, 0, 20);
    return builder;
}

const ThreadRun* run_of(const ProcessRuns& process, std::uint32_t tid) {
    for (const ThreadRun& run : process.runs)
        if (run.delay.begin_tid == tid) return &run;
    return nullptr;
}

TEST(ThreadRuns, are_over_the_whole_recording) {
    const auto recording = shop().decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    const ThreadRun* seller = run_of(process, 11);
    ASSERT_NE(seller, nullptr);
    EXPECT_EQ(seller->delay.begin_ns, recording->begin_ns);
    EXPECT_EQ(seller->split.blocked_ns, recording->end_ns - recording->begin_ns);
    EXPECT_TRUE(seller->delay.open);
    EXPECT_THAT(cause_sentences(seller->causes).at(0), HasSubstr("for a lock in sell"));
}

TEST(ThreadRuns, with_one_cause_are_one) {
    const auto recording = shop().decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    const ThreadRun* seller = run_of(process, 11);
    ASSERT_NE(seller, nullptr);
    ASSERT_EQ(seller->others.size(), 1U);
    EXPECT_EQ(seller->others.front().tid, 12U);
    EXPECT_EQ(run_of(process, 12), nullptr);
}

// Both sleep for most of the time, but only one waits for a lock beside that.
TEST(ThreadRuns, of_which_one_does_something_else_too_are_not_one) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "asks")
        .thread(10, 12, "idles");
    const TraceBuilder::Stack sleeping =
        in_thread("rest", {"nanosleep", "k:hrtimer_nanosleep", "k:schedule"});
    builder.off_cpu(0, 10, 11, sleeping).off_cpu(0, 10, 12, sleeping);
    builder.caused_waking(250 * ms, 0, 0, 11, 2).switched(250 * ms, 0, 0, 0, 11);
    builder.switched(251 * ms, 0, 11, 1, 0).off_cpu(251 * ms, 10, 11, in_lock);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    EXPECT_NE(run_of(process, 11), nullptr);
    EXPECT_NE(run_of(process, 12), nullptr);
}

TEST(ThreadRuns, that_wait_for_work_come_last) {
    const auto recording = shop().decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    ASSERT_NE(run_of(process, 13), nullptr);
    EXPECT_TRUE(run_of(process, 13)->waits_for_work);
    EXPECT_EQ(process.runs.back().delay.begin_tid, 13U);
    ASSERT_NE(run_of(process, 14), nullptr);
    EXPECT_FALSE(run_of(process, 14)->waits_for_work);
    EXPECT_EQ(process.runs.front().delay.begin_tid, 11U);
}

// Both wait for events for three quarters of the time.
TEST(ThreadRuns, of_an_event_loop_that_waits_for_another_thread_do_not_wait_for_work) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "stopped")
        .thread(10, 12, "timed")
        .thread(10, 13, "helper");
    const TraceBuilder::Stack waits =
        in_thread("serve", {"pthread_cond_wait", "k:futex_wait", "k:schedule"});
    builder.switched(0, 1, 0, 0, 13);
    for (const std::uint32_t tid : {11U, 12U}) {
        const std::uint64_t at = tid == 11 ? 200 * ms : 202 * ms;
        builder.off_cpu(0, 10, tid, in_event_loop);
        builder.caused_waking(at, 0, 0, tid, 2).switched(at, 0, 0, 0, tid);
        builder.switched(at + 1 * ms, 0, tid, 1, 0).off_cpu(at + 1 * ms, 10, tid, waits);
    }
    builder.waking(300 * ms, 1, 13, 11).switched(300 * ms, 0, 0, 0, 11);
    builder.switched(301 * ms, 0, 11, 1, 0).off_cpu(301 * ms, 10, 11, in_event_loop);
    builder.caused_waking(310 * ms, 0, 0, 12, 2).switched(310 * ms, 0, 0, 0, 12);
    builder.switched(311 * ms, 0, 12, 1, 0).off_cpu(311 * ms, 10, 12, in_event_loop);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    ASSERT_NE(run_of(process, 11), nullptr);
    EXPECT_FALSE(run_of(process, 11)->waits_for_work);
    ASSERT_NE(run_of(process, 12), nullptr);
    EXPECT_TRUE(run_of(process, 12)->waits_for_work) << "its waits timed out";
}

TEST(ThreadRuns, that_wait_for_a_client_to_connect_wait_for_work) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/shop")
        .thread(10, 10, "shop")
        .thread(10, 11, "local")
        .thread(20, 20, "other");
    builder.switched(0, 0, 0, 0, 20);
    builder.off_cpu(
        0, 10, 10,
        {"main", "accept", "k:__sys_accept4", "k:do_accept", "k:inet_csk_accept", "k:schedule"});
    builder.off_cpu(0, 10, 11,
                    {"clone3", "start_thread", "serve", "accept", "k:do_accept", "k:unix_accept",
                     "k:__skb_wait_for_more_packets", "k:schedule"});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    ASSERT_FALSE(process.runs.empty());
    for (const ThreadRun& run : process.runs)
        EXPECT_TRUE(run.waits_for_work) << run.delay.begin_tid;
}

// As sshd that looks up the name of its client.
TEST(ThreadRuns, that_have_asked_a_name_server_do_not_wait_for_work) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/sbin/sshd").thread(10, 10, "sshd");
    const TraceBuilder::Stack asking{"main", "!/usr/lib/libc.so.6!getnameinfo",
                                     "!/usr/lib/libc.so.6!poll", "k:do_sys_poll", "k:schedule"};
    builder.off_cpu(0, 10, 10, asking).wait_file(0, 0, 10, 7, "127.0.0.9:53");
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    ASSERT_NE(run_of(process, 10), nullptr);
    EXPECT_FALSE(run_of(process, 10)->waits_for_work);
}

TEST(ThreadRuns, end_with_their_thread) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "short");
    builder.switched(100 * ms, 0, 0, 0, 11).switched(150 * ms, 0, 11, 0x10, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    const ThreadRun* run = run_of(process, 11);
    ASSERT_NE(run, nullptr);
    EXPECT_FALSE(run->delay.open);
    EXPECT_EQ(end_of(run->delay), recording->begin_ns + 150 * ms);
}

TEST(ThreadRuns, of_no_process_are_none) {
    const auto recording = shop().decode();
    ASSERT_TRUE(recording);
    EXPECT_TRUE(runs_of_processes(*recording, {99}).runs.empty());
    EXPECT_EQ(runs_of_processes(*recording, {20}).threads, 1U);
}

// The garbage collector computes more than the program's own threads do.
TEST(ThreadRuns, of_a_runtime_come_after_those_of_the_program) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/java").thread(10, 10, "VM Thread").thread(10, 11, "GC Thread#0");
    builder.thread(10, 12, "seller");
    builder.off_cpu(0, 10, 10, in_event_loop);
    builder.switched(0, 0, 0, 0, 11)
        .samples(1 * ms, 399 * ms, 0, 10, 11, {"clone3", "start_thread", "mark"});
    builder.switched(0, 1, 0, 0, 12)
        .samples(1 * ms, 250 * ms, 1, 10, 12, {"clone3", "start_thread", "sell"});
    builder.switched(250 * ms, 1, 12, 1, 0);
    builder.off_cpu(250 * ms, 10, 12,
                    in_thread("rest", {"nanosleep", "k:hrtimer_nanosleep", "k:schedule"}));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    EXPECT_EQ(process.runs.front().delay.begin_tid, 12U);
    EXPECT_EQ(process.runs.back().delay.begin_tid, 10U);
}

// A thread with number 10 + i waits in each of these stacks, and a last one computes.
ProcessRuns runs_of_waits(const std::vector<TraceBuilder::Stack>& stacks) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app");
    for (std::uint32_t i = 0; i < stacks.size(); ++i)
        builder.thread(10, 10 + i, "worker").off_cpu(0, 10, 10 + i, stacks[i]);
    builder.thread(10, 99, "busy").switched(0, 0, 0, 0, 99);
    builder.samples(1 * ms, 399 * ms, 0, 10, 99, {"clone3", "start_thread", "pack"});
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    return runs_of_processes(*recording, {10});
}

TraceBuilder::Stack for_signal(std::vector<std::string> functions) {
    functions.insert(functions.end(), {"pthread_cond_wait", "k:futex_wait", "k:schedule"});
    return in_thread("run_worker", functions);
}

TEST(ThreadRuns, in_the_loop_of_workers_wait_for_work) {
    const auto process = runs_of_waits(
        {for_signal({"take_job"}), for_signal({"Queue::take", "Queue::wait"}),
         in_thread("log_messages", {"get_next_connection", "nanosleep", "k:hrtimer_nanosleep"})});
    for (const std::uint32_t tid : {10U, 11U, 12U})
        if (const ThreadRun* run = run_of(process, tid)) {
            EXPECT_TRUE(run->waits_for_work) << tid;
        }
    EXPECT_EQ(process.runs.front().delay.begin_tid, 99U);
}

// The other one is in the loop that has called handle_request.
TEST(ThreadRuns, behind_the_loop_of_workers_are_in_the_middle_of_work) {
    const auto process = runs_of_waits(
        {for_signal({"take_job"}), for_signal({"handle_request", "wait_for_answer"})});
    ASSERT_NE(run_of(process, 11), nullptr);
    EXPECT_FALSE(run_of(process, 11)->waits_for_work);
    EXPECT_EQ(run_of(process, 11)->in_work, InWork::Likely);
    EXPECT_TRUE(run_of(process, 10)->waits_for_work);
}

TEST(ThreadRuns, that_wait_for_a_connection_of_a_pool_are_in_the_middle_of_work) {
    for (const char* function : {"get_connection", "ConnectionPool::get",
                                 "Pool<Connection>::acquire", "checkOut", "takeConn(int)"}) {
        const auto process = runs_of_waits({for_signal({"handle_request", function})});
        ASSERT_NE(run_of(process, 10), nullptr);
        EXPECT_EQ(run_of(process, 10)->in_work, InWork::Likely) << function;
    }
}

TEST(ThreadRuns, that_have_asked_others_are_in_the_middle_of_work) {
    for (const char* function : {"std::future<int>::get", "std::sync::mpsc::SyncSender<T>::send",
                                 "pthread_barrier_wait"}) {
        const auto process = runs_of_waits({for_signal({function})});
        ASSERT_NE(run_of(process, 10), nullptr);
        EXPECT_FALSE(run_of(process, 10)->waits_for_work) << function;
    }
}

TEST(ThreadRuns, deep_in_the_program_are_perhaps_in_the_middle_of_work) {
    const auto process =
        runs_of_waits({for_signal({"handle_request", "render", "load_user"}),
                       in_thread("serve", {"a", "b", "c", "epoll_wait", "k:ep_poll", "k:schedule"}),
                       in_thread("serve", {"a", "b", "c", "poll", "k:do_sys_poll", "k:schedule"}),
                       for_signal({"tokio::a", "tokio::b", "tokio::c", "tokio::d"})});
    ASSERT_NE(run_of(process, 10), nullptr);
    EXPECT_EQ(run_of(process, 10)->in_work, InWork::Perhaps);
    EXPECT_FALSE(run_of(process, 10)->waits_for_work);
    ASSERT_NE(run_of(process, 11), nullptr);
    EXPECT_TRUE(run_of(process, 11)->waits_for_work);
    ASSERT_NE(run_of(process, 12), nullptr);
    EXPECT_FALSE(run_of(process, 12)->waits_for_work);
    ASSERT_NE(run_of(process, 13), nullptr);
    EXPECT_TRUE(run_of(process, 13)->waits_for_work);
}

TEST(ThreadRuns, know_their_thread_process_and_unit) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").unit(10, "app.service").thread(10, 11, "worker");
    builder.off_cpu(0, 10, 11, in_lock);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const trace::Delay delay = run_of_thread(*recording, *recording->find_thread(11));
    EXPECT_EQ(delay.event, "worker");
    EXPECT_EQ(delay.thread, "worker");
    EXPECT_EQ(delay.process, "app");
    EXPECT_EQ(delay.unit, "app.service");
    EXPECT_EQ(delay.begin_pid, 10U);
    EXPECT_EQ(delay.end_pid, 10U);
    EXPECT_EQ(delay.begin_tid, 11U);
    EXPECT_EQ(delay.end_tid, 11U);
    EXPECT_EQ(delay.begin_ns, recording->begin_ns);
    EXPECT_EQ(delay.duration_ns, 400 * ms);
    EXPECT_TRUE(delay.open);
}

TEST(ThreadRuns, begin_with_their_thread) {
    Recording recording;
    recording.begin_ns = 1000 * ms;
    recording.end_ns = 1400 * ms;
    Thread thread;
    thread.pid = thread.tid = 10;
    EXPECT_EQ(run_of_thread(recording, thread).duration_ns, 0U) << "nothing is known";
    StateChange change;
    change.at_ns = 1000 * ms;
    thread.changes.push_back(change);
    EXPECT_EQ(run_of_thread(recording, thread).duration_ns, 0U);
    change.at_ns = 1100 * ms;
    change.state = ThreadState::Running;
    thread.changes.push_back(change);
    EXPECT_EQ(run_of_thread(recording, thread).begin_ns, 1100 * ms);
    EXPECT_EQ(run_of_thread(recording, thread).duration_ns, 300 * ms);
    thread.alive_at_start = true;
    EXPECT_EQ(run_of_thread(recording, thread).begin_ns, 1000 * ms);
    change.at_ns = 1250 * ms;
    change.state = ThreadState::Exited;
    thread.changes.push_back(change);
    EXPECT_EQ(run_of_thread(recording, thread).duration_ns, 250 * ms);
    EXPECT_FALSE(run_of_thread(recording, thread).open);
}

// The numbers of the threads that wait in these stacks, most informative first.
std::vector<std::uint32_t> order_of(const std::vector<TraceBuilder::Stack>& stacks) {
    std::vector<std::uint32_t> order;
    for (const ThreadRun& run : runs_of_waits(stacks).runs) order.push_back(run.delay.begin_tid);
    return order;
}

TEST(ThreadRuns, that_explain_more_come_first) {
    const TraceBuilder::Stack pipe =
        in_thread("log", {"write", "k:ksys_write", "k:pipe_write", "k:schedule"});
    const TraceBuilder::Stack events = in_event_loop;
    // 99 computes.
    EXPECT_EQ(order_of({events, pipe, in_lock}), (std::vector<std::uint32_t>{12, 99, 11, 10}));
    // Of threads that explain as much, the first one of the process.
    EXPECT_EQ(order_of({in_lock, in_thread("buy", {"___pthread_mutex_lock", "__lll_lock_wait",
                                                   "k:futex_wait", "k:schedule"})}),
              (std::vector<std::uint32_t>{10, 11, 99}));
}

TEST(ThreadRuns, rank_by_what_they_wait_for) {
    const auto is_first = [](const TraceBuilder::Stack& one, const TraceBuilder::Stack& other) {
        TraceBuilder builder(400 * ms, 1);
        builder.process(10, "/usr/bin/app").thread(10, 11, "one").thread(10, 12, "other");
        builder.thread(20, 20, "busy").switched(0, 0, 0, 0, 20);
        builder.off_cpu(0, 10, 11, one).off_cpu(0, 10, 12, other);
        const auto recording = builder.decode();
        EXPECT_TRUE(recording);
        return runs_of_processes(*recording, {10}).runs.front().delay.begin_tid == 11U;
    };
    const auto waits = [](const std::string& call, const std::string& in_kernel) {
        return in_thread("work", {call, "k:" + in_kernel, "k:schedule"});
    };
    const std::vector<TraceBuilder::Stack> others{waits("read", "pipe_read"),
                                                  waits("recv", "unix_stream_read_generic"),
                                                  waits("recv", "tcp_recvmsg"),
                                                  waits("wait4", "do_wait"),
                                                  waits("vfork", "wait_for_vfork_done"),
                                                  waits("pthread_join", "futex_wait"),
                                                  waits("syscall", "futex_wait")};
    const std::vector<TraceBuilder::Stack> perhaps_queues{
        waits("sem_wait", "futex_wait"), waits("PyThread_acquire_lock", "futex_wait")};
    for (const TraceBuilder::Stack& wait : others) {
        EXPECT_TRUE(is_first(in_lock, wait)) << wait[3] << " " << wait[4];
        EXPECT_FALSE(is_first(wait, in_lock)) << wait[3] << " " << wait[4];
        for (const TraceBuilder::Stack& queue : perhaps_queues) {
            EXPECT_TRUE(is_first(wait, queue)) << wait[3] << " " << wait[4];
            EXPECT_FALSE(is_first(queue, wait)) << wait[3] << " " << wait[4];
        }
    }
    for (const TraceBuilder::Stack& queue : perhaps_queues) {
        EXPECT_TRUE(is_first(queue, in_event_loop));
        EXPECT_FALSE(is_first(in_event_loop, queue));
    }
}

TEST(ThreadRuns, have_at_most_three_stacks_and_a_thousand_of_them_are_looked_at) {
    TraceBuilder builder(100 * ms, 1);
    builder.process(10, "/usr/bin/app");
    for (std::uint32_t tid = 2000; tid < 3003; ++tid)
        builder.thread(10, tid, "worker").off_cpu(0, 10, tid, in_lock);
    builder.thread(10, 10, "app").switched(0, 0, 0, 0, 10);
    for (std::uint64_t i = 0; i < 5; ++i)
        builder.samples((1 + 10 * i) * ms, (9 + 10 * i) * ms, 0, 10, 10,
                        {"main", "work_" + std::to_string(i)});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    EXPECT_EQ(process.threads, 1004U);
    EXPECT_EQ(process.left_out, 4U);
    ASSERT_NE(run_of(process, 10), nullptr);
    EXPECT_EQ(run_of(process, 10)->stacks.size(), 3U);
    ASSERT_NE(run_of(process, 2000), nullptr);
    EXPECT_EQ(run_of(process, 2000)->others.size(), 998U);
}

TEST(ThreadRuns, of_javas_services_are_known_by_their_names) {
    const std::vector<std::string> services{
        "GC Thread#1",     "G1 Conc#0",       "ParGC",           "ZDriver",
        "ZWorker#1",       "ZDirector",       "ZStat",           "Shenandoah GC",
        "Concurrent Mark", "C1 CompilerThre", "C2 CompilerThre", "JVMCI x",
        "VM Periodic Tas", "Signal Dispatch", "Finalizer",       "Reference Handl",
        "Common-Cleaner",  "Monitor Deflati", "Sweeper thread",  "Notification Th",
        "Service Thread",  "DestroyJavaVM"};
    for (const bool in_java : {true, false}) {
        TraceBuilder builder(400 * ms, 1);
        builder.process(10, "/usr/bin/java");
        std::uint32_t tid = 20;
        for (const std::string& service : services) {
            builder.thread(10, tid, service).off_cpu(0, 10, tid, in_lock);
            ++tid;
        }
        builder.thread(10, 11, "seller").off_cpu(0, 10, 11, in_event_loop);
        if (in_java) builder.thread(10, 12, "VM Thread").off_cpu(0, 10, 12, in_event_loop);
        builder.thread(90, 90, "other").switched(0, 0, 0, 0, 90);
        for (std::uint32_t i = 0; i < services.size(); ++i) {
            // One at a time, because those with one cause are one.
            Recording single = builder.decode().value();
            std::erase_if(single.threads, [&](const Thread& thread) {
                return thread.tid != 20 + i && thread.tid != 12;
            });
            const auto process = runs_of_processes(single, {10});
            ASSERT_NE(run_of(process, 20 + i), nullptr);
            EXPECT_EQ(run_of(process, 20 + i)->of_runtime, in_java) << services[i];
            EXPECT_EQ(run_of(process, 20 + i)->waits_for_work, in_java) << services[i];
        }
    }
}

TEST(ThreadRuns, of_javas_launcher_wait_for_work) {
    const auto join = [](const std::string& function) {
        return runs_of_waits({{"main", function, "pthread_join", "k:futex_wait", "k:schedule"}});
    };
    ASSERT_NE(run_of(join("CallJavaMainInNewThread"), 10), nullptr);
    EXPECT_TRUE(run_of(join("CallJavaMainInNewThread"), 10)->waits_for_work);
    EXPECT_FALSE(run_of(join("run_workers"), 10)->waits_for_work);
}

TEST(ThreadRuns, of_short_lives_count_by_the_time_of_all_alike) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "short").thread(10, 12, "steady");
    builder.switched(100 * ms, 0, 0, 0, 11).switched(120 * ms, 0, 11, 0x10, 0);
    builder.samples(100 * ms, 120 * ms, 0, 10, 11, {"start_thread", "burst"});
    builder.off_cpu(0, 10, 12,
                    in_thread("log", {"write", "k:ksys_write", "k:pipe_write", "k:schedule"}));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto process = runs_of_processes(*recording, {10});
    ASSERT_EQ(process.runs.size(), 2U);
    EXPECT_EQ(process.runs.front().delay.begin_tid, 12U) << "though computing explains more";
}

}  // namespace
}  // namespace lagtrap::analysis::thread_runs_tests
