// The report of `lagtrap why` about a recording.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/why/last_runs.hpp"
#include "cli/why/lock_owners.hpp"
#include "cli/why/waited_files.hpp"
#include "cli/why/why_json.hpp"
#include "cli/why/why_text.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::why_tests {
namespace {

using test::TraceBuilder;
using testing::HasSubstr;
using testing::Not;
constexpr std::uint64_t ms = TraceBuilder::ms;

// A process in which `sellers` threads wait for a lock, one computes, and `pool` threads wait for
// work.
TraceBuilder shop(std::uint32_t sellers, std::uint32_t pool) {
    TraceBuilder builder(1000 * ms, 1);
    builder.process(100, "/usr/bin/shop --fast").thread(100, 100, "shop");
    builder.switched(0, 0, 0, 0, 100)
        .samples(1 * ms, 999 * ms, 0, 100, 100, {"_start", "main", "count_stock"});
    for (std::uint32_t i = 0; i < sellers + pool; ++i) {
        const std::uint32_t tid = 101 + i;
        builder.thread(100, tid, (i < sellers ? "seller-" : "pool-") + std::to_string(i));
        if (i < sellers)
            builder.off_cpu(0, 100, tid,
                            {"clone3", "start_thread", "sell", "___pthread_mutex_lock",
                             "__lll_lock_wait", "k:futex_wait", "k:schedule"});
        else
            builder.off_cpu(
                0, 100, tid,
                {"clone3", "start_thread", "serve",
                 "!/usr/lib/x86_64-linux-gnu/libc.so.6!epoll_wait", "k:ep_poll", "k:schedule"});
    }
    return builder;
}

std::string text_of(const TraceBuilder& builder,
                    std::map<std::uint32_t, std::uint64_t> stopped = {}) {
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    return cli::why_text(*recording, {"", false, {100}},
                         {cli::Paint(false), 80, false, std::move(stopped)});
}

TEST(Why, fits_on_a_screen) {
    const std::string text = text_of(shop(250, 250));
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
    EXPECT_LE(count, 24U) << text;
    EXPECT_THAT(text, HasSubstr("250 threads such as seller-0 (101)"));
    EXPECT_THAT(text, HasSubstr("250 more threads wait for work: 250 for events in serve."));
    EXPECT_THAT(text, HasSubstr("count_stock"));
}

TEST(Why, shows_a_process_without_work_in_full) {
    TraceBuilder builder(1000 * ms, 1);
    builder.process(100, "/usr/bin/idle").thread(100, 100, "idle").thread(200, 200, "other");
    builder.switched(0, 0, 0, 0, 200);
    builder.off_cpu(0, 100, 100,
                    {"_start", "main", "serve", "!/usr/lib/x86_64-linux-gnu/libc.so.6!epoll_wait",
                     "k:ep_poll", "k:schedule"});
    const std::string text = text_of(builder);
    EXPECT_THAT(text, HasSubstr("for events in serve"));
    EXPECT_THAT(text, Not(HasSubstr("more thread")));
    EXPECT_THAT(text, HasSubstr("\nNo thread works: there was nothing to do"));
    EXPECT_THAT(text_of(shop(1, 1)), Not(HasSubstr("No thread works")));
}

TEST(Why, says_since_when) {
    EXPECT_THAT(text_of(shop(1, 0)),
                HasSubstr("seller-0 (101): blocked since before the recording"));
    EXPECT_THAT(text_of(shop(1, 0), {{101, 59'000 * ms}}),
                HasSubstr("seller-0 (101): blocked for about 60.0 s"));
}

TEST(Why, has_json) {
    const auto recording = shop(2, 1).decode();
    ASSERT_TRUE(recording);
    const auto json =
        cli::why_json(*recording, {"", false, {100}}, {cli::Paint(false), 80, false, {{101, 5}}});
    EXPECT_EQ(json.at("threads"), 4);
    const auto& first = json.at("runs").at(0);
    EXPECT_EQ(first.at("thread"), "seller-0");
    EXPECT_EQ(first.at("others").as_array().size(), 1U);
    EXPECT_EQ(first.at("blocked_before_recording_ns"), 5);
    EXPECT_EQ(json.at("runs").as_array().back().at("waits_for_work"), true);
}

TEST(Why, names_the_processes_of_a_unit) {
    TraceBuilder builder(1000 * ms, 1);
    const TraceBuilder::Stack lock{"main", "sell", "___pthread_mutex_lock", "k:futex_wait",
                                   "k:schedule"};
    for (const std::uint32_t pid : {100U, 200U}) {
        builder.process(pid, "/usr/bin/shop")
            .thread(pid, pid, "shop")
            .thread(pid, pid + 1, "seller");
        builder.off_cpu(0, pid, pid, {"main", "nap", "k:hrtimer_nanosleep", "k:schedule"});
        builder.off_cpu(0, pid, pid + 1, lock);
    }
    builder.process(300, "/usr/bin/other").thread(300, 300, "other").off_cpu(0, 300, 300, lock);
    builder.switched(0, 0, 0, 0, 400);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const cli::WhyTarget unit{"shop.service", true, {100, 200, 999}};
    const std::string text = cli::why_text(*recording, unit, {cli::Paint(false), 80, false, {}});
    EXPECT_THAT(text, testing::StartsWith("shop.service, 2 processes, 4 threads, over 1.00 s\n"));
    EXPECT_THAT(text, HasSubstr("2 threads such as seller (101) of shop (100): blocked"));
    EXPECT_THAT(text, Not(HasSubstr("other")));
    const auto json = cli::why_json(*recording, unit, {cli::Paint(false), 80, false, {}});
    EXPECT_EQ(json.at("target"), "shop.service");
    EXPECT_EQ(json.at("processes").as_array().size(), 2U);
    EXPECT_EQ(json.at("runs").at(0).at("pid"), 100);
}

// A busy thread, three groups of threads that wait for locks, and more that wait for work than are
// named.
TEST(Why, is_whole) {
    TraceBuilder builder = shop(3, 2);
    const auto waits = [&](std::uint32_t tid, const std::string& name,
                           const TraceBuilder::Stack& stack) {
        builder.thread(100, tid, name).off_cpu(0, 100, tid, stack);
    };
    for (std::uint32_t i = 0; i < 7; ++i)
        waits(120 + i, "locker-" + std::to_string(i),
              {"clone3", "start_thread", "lock_" + std::to_string(i), "___pthread_mutex_lock",
               "__lll_lock_wait", "k:futex_wait", "k:schedule"});
    for (std::uint32_t i = 0; i < 5; ++i)
        waits(140 + i, "idle-" + std::to_string(i),
              {"clone3", "start_thread", "serve_" + std::to_string(i),
               "!/usr/lib/x86_64-linux-gnu/libc.so.6!epoll_wait", "k:ep_poll", "k:schedule"});
    waits(150, "napper", {"clone3", "start_thread", "nap", "k:hrtimer_nanosleep", "k:schedule"});
    builder.thread(100, 160, "silent");
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    cli::WhyLook look{cli::Paint(false), 80, false, {{101, 59'000 * ms}}};
    look.files = {{101, "/srv/stock (descriptor 4)"}, {100, "/srv/never (descriptor 5)"}};
    const cli::WhyTarget target{"", false, {100}};
    std::string shown = cli::why_text(*recording, target, look);
    look.all = true;
    shown += "# all\n" + cli::why_text(*recording, target, look);
    shown += "# as JSON\n" + boost::json::serialize(cli::why_json(*recording, target, look)) + "\n";
    test::expect_text(shown, "why.txt");
}

TEST(Why, sums_up_threads_that_wait_for_work) {
    TraceBuilder builder = shop(0, 0);
    const auto waits = [&](std::uint32_t tid, const TraceBuilder::Stack& stack) {
        builder.thread(100, tid, "idle").off_cpu(0, 100, tid, stack);
    };
    waits(150, {"clone3", "start_thread", "nap", "k:hrtimer_nanosleep", "k:schedule"});
    EXPECT_THAT(text_of(builder),
                HasSubstr("\n1 more thread waits for work: 1 for a timer in nap.\n"));
    const auto serves = [&](std::uint32_t number) {
        waits(200 + number,
              {"clone3", "start_thread", "serve_" + std::to_string(number),
               "!/usr/lib/x86_64-linux-gnu/libc.so.6!epoll_wait", "k:ep_poll", "k:schedule"});
    };
    for (std::uint32_t number = 0; number < 3; ++number) serves(number);
    EXPECT_THAT(text_of(builder), HasSubstr("\n4 more threads wait for work: "));
    EXPECT_THAT(text_of(builder), HasSubstr("1 for a timer in nap"));
    EXPECT_THAT(text_of(builder), HasSubstr("serve_2"));
    EXPECT_THAT(text_of(builder), Not(HasSubstr("and others")));
    serves(3);
    EXPECT_THAT(text_of(builder), HasSubstr(", and others.\n"));
    EXPECT_THAT(text_of(builder), Not(HasSubstr("more thread;")));
}

TEST(Why, leaves_out_states_of_less_than_half_a_percent) {
    const auto states = [](std::uint64_t on_cpu_ns) {
        TraceBuilder builder(1000 * ms, 1);
        builder.process(100, "/usr/bin/shop").thread(100, 100, "shop");
        builder.switched(0, 0, 0, 0, 100);
        builder.switched(on_cpu_ns, 0, 100, 1, 0);
        const std::string text = text_of(builder);
        const std::size_t begin = text.find("thread shop (100): ");
        return text.substr(begin, text.find('\n', begin) - begin);
    };
    EXPECT_EQ(states(4 * ms), "thread shop (100): blocked 100 %");
    EXPECT_EQ(states(5 * ms), "thread shop (100): on CPU <1 %, blocked 100 %");
    EXPECT_EQ(states(250 * ms), "thread shop (100): on CPU 25 %, blocked 75 %");
    EXPECT_EQ(states(996 * ms), "thread shop (100): on CPU 100 %");
}

TEST(WhyTarget, is_a_process_or_several_or_a_unit) {
    const test::TemporaryFolder proc;
    const auto add = [&](const char* pid, const char* name, const char* group) {
        std::filesystem::create_directories(proc.path() / pid);
        std::ofstream(proc.path() / pid / "comm") << name << "\n";
        std::ofstream(proc.path() / pid / "cgroup") << "0::" << group << "\n";
    };
    add("7", "master", "/system.slice/shop.service");
    add("8", "worker", "/system.slice/shop.service/workers");
    add("9", "worker", "/user.slice");
    const auto target = [&](const char* text) { return cli::find_why_target(text, proc.path()); };
    EXPECT_EQ(target("7")->pids, std::set<std::uint32_t>({7}));
    EXPECT_EQ(target("master")->pids, std::set<std::uint32_t>({7}));
    EXPECT_EQ(target("master")->name, "");
    EXPECT_EQ(target("worker")->pids, std::set<std::uint32_t>({8, 9}));
    EXPECT_EQ(target("worker")->name, "worker");
    for (const char* unit : {"shop.service", "shop"}) {
        EXPECT_EQ(target(unit)->pids, std::set<std::uint32_t>({7, 8})) << unit;
        EXPECT_EQ(target(unit)->name, "shop.service");
    }
    EXPECT_EQ(target("cron").error().message,
              "no process is named cron, and the unit cron.service has no processes; \"ps -e\" "
              "lists processes, \"systemctl\" units");
    EXPECT_FALSE(target("10"));
    auto grown = target("shop");
    add("11", "worker", "/system.slice/shop.service/workers");
    cli::add_new_processes(*grown, proc.path());
    EXPECT_EQ(grown->pids.size(), 3U);
}

TEST(WaitedFiles, are_read_from_proc) {
    const test::TemporaryFolder proc;
    for (const char* folder : {"7/task/7", "7/task/8", "7/fd", "9/fd"})
        std::filesystem::create_directories(proc.path() / folder);
    ASSERT_EQ(::mkfifo(proc.string("fifo").c_str(), 0600), 0);
    for (const char* link : {"7/fd/3", "9/fd/1"})
        std::filesystem::create_symlink(proc.path() / "fifo", proc.path() / link);
    std::ofstream(proc.path() / "7/task/7/syscall")
        << SYS_read << " 0x3 0x7ffc 0x400 0x0 0x0 0x0 0x7ffd 0x7ffe\n";
    std::ofstream(proc.path() / "7/task/8/syscall") << "running\n";
    std::ofstream(proc.path() / "9/comm") << "writer\n";
    const auto files = cli::waited_files(7, proc.path());
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files.at(7), proc.string("fifo") + " (descriptor 3), also open in writer (9)");
    std::filesystem::remove(proc.path() / "9/fd/1");
    EXPECT_THAT(cli::waited_files(7, proc.path()).at(7),
                HasSubstr("which no other process has open"));
}

TEST(WaitedFiles, have_printable_names_of_others) {
    const test::TemporaryFolder proc;
    for (const char* folder : {"7/task/7", "7/task/8", "7/task/9", "7/fd"})
        std::filesystem::create_directories(proc.path() / folder);
    ASSERT_EQ(::mkfifo(proc.string("fifo").c_str(), 0600), 0);
    std::ofstream(proc.path() / "plain\x1b[31m") << "content";
    std::filesystem::create_symlink(proc.path() / "fifo", proc.path() / "7/fd/3");
    std::filesystem::create_symlink(proc.path() / "plain\x1b[31m", proc.path() / "7/fd/18");
    std::filesystem::create_symlink("socket:[4711]", proc.path() / "7/fd/4");
    std::ofstream(proc.path() / "7/task/7/syscall") << SYS_read << " 0x3 0x7ffc 0x400\n";
    std::ofstream(proc.path() / "7/task/8/syscall") << SYS_fsync << " 0x12 0x0\n";
    std::ofstream(proc.path() / "7/task/9/syscall") << SYS_write << " 0x4 0x0\n";
    const auto add_user = [&](const std::string& pid) {
        std::filesystem::create_directories(proc.path() / pid / "fd");
        std::ofstream(proc.path() / pid / "comm") << "red\x1b[31m\n";
        std::filesystem::create_symlink(proc.path() / "fifo", proc.path() / pid / "fd/0");
    };
    add_user("20");
    auto files = cli::waited_files(7, proc.path());
    EXPECT_EQ(files.at(7), proc.string("fifo") + " (descriptor 3), also open in red\\x1b[31m (20)");
    EXPECT_EQ(files.at(8), proc.string("plain\\x1b[31m") + " (descriptor 18)");
    EXPECT_EQ(files.size(), 2U) << "a socket has no name";
    for (const char* pid : {"21", "22"}) add_user(pid);
    EXPECT_THAT(cli::waited_files(7, proc.path()).at(7), Not(HasSubstr("...")));
    add_user("23");
    EXPECT_THAT(cli::waited_files(7, proc.path()).at(7), testing::EndsWith("), ..."));
}

TEST(LockOwners, are_read_from_mutexes_that_threads_wait_for) {
    std::mutex mutex;
    mutex.lock();
    std::atomic<std::uint32_t> waiter = 0;
    std::thread thread([&] {
        waiter = static_cast<std::uint32_t>(::gettid());
        const std::lock_guard lock(mutex);
    });
    const auto own_pid = static_cast<std::uint32_t>(::getpid());
    std::map<std::uint32_t, std::uint32_t> owners;
    while (owners.empty()) {
        std::this_thread::yield();
        owners = cli::lock_owners(own_pid);
    }
    mutex.unlock();
    thread.join();
    EXPECT_EQ(
        owners,
        (std::map<std::uint32_t, std::uint32_t>{{waiter, static_cast<std::uint32_t>(::gettid())}}));
    EXPECT_TRUE(cli::lock_owners(own_pid).empty());
}

// The kernel's own number of the owner is in the lock.
TEST(LockOwners, are_read_from_locks_with_priority_inheritance) {
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_t mutex;
    ASSERT_EQ(pthread_mutex_init(&mutex, &inherits), 0);
    pthread_mutex_lock(&mutex);
    std::atomic<std::uint32_t> waiter = 0;
    std::thread thread([&] {
        waiter = static_cast<std::uint32_t>(::gettid());
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    });
    std::map<std::uint32_t, std::uint32_t> owners;
    while (owners.empty()) {
        std::this_thread::yield();
        owners = cli::lock_owners(static_cast<std::uint32_t>(::getpid()));
    }
    pthread_mutex_unlock(&mutex);
    thread.join();
    pthread_mutex_destroy(&mutex);
    EXPECT_EQ(
        owners,
        (std::map<std::uint32_t, std::uint32_t>{{waiter, static_cast<std::uint32_t>(::gettid())}}));
}

TEST(WaitedFiles, are_those_of_calls_with_a_descriptor) {
    const test::TemporaryFolder proc;
    for (const char* folder : {"7/task/7", "7/fd"})
        std::filesystem::create_directories(proc.path() / folder);
    std::ofstream(proc.path() / "file") << "x";
    std::filesystem::create_symlink(proc.path() / "file", proc.path() / "7/fd/3");
    const auto files_of = [&](long call, const char* first = "0x3") {
        std::ofstream(proc.path() / "7/task/7/syscall") << call << " " << first << " 0x1\n";
        return cli::waited_files(7, proc.path()).size();
    };
    for (const long call :
         {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_fsync,
          SYS_fdatasync, SYS_flock, SYS_splice, SYS_ioctl, SYS_sendfile})
        EXPECT_EQ(files_of(call), 1U) << call;
    for (const long call : {SYS_futex, SYS_poll, SYS_epoll_wait, SYS_openat})
        EXPECT_EQ(files_of(call), 0U) << call;
    EXPECT_EQ(files_of(SYS_read, "3"), 0U) << "no address";
    EXPECT_EQ(files_of(SYS_read, "0xz"), 0U);
    EXPECT_EQ(files_of(SYS_read, "0x4"), 0U) << "not open";
}

TEST(LastRuns, make_no_sense_of_other_texts) {
    const test::TemporaryFolder proc;
    const auto clock_of = [&](const std::string& text) {
        std::filesystem::create_directories(proc.path() / "self");
        std::ofstream(proc.path() / "self/sched") << text;
        return cli::scheduler_clock_ns(proc.path());
    };
    EXPECT_EQ(clock_of("se.exec_start : 2.5\n"), 2'500'000U);
    EXPECT_EQ(clock_of(""), 0U);
    EXPECT_EQ(clock_of("se.other : 2.5\n"), 0U);
    EXPECT_EQ(clock_of("se.exec_start : none\n"), 0U);
    EXPECT_EQ(clock_of("se.exec_start : 0.0\n"), 0U);
    EXPECT_EQ(clock_of("se.exec_start : 99999999999999.0\n"), 0U);
    EXPECT_TRUE(cli::stopped_before({{7, 100}}, {{7, 100}}, 100).empty()) << "just now";
}

TEST(LastRuns, are_read_from_proc) {
    const test::TemporaryFolder proc;
    for (const char* thread : {"self", "7/task/7", "7/task/8"}) {
        std::filesystem::create_directories(proc.path() / thread);
        std::ofstream(proc.path() / thread / "sched")
            << "app (7, #threads: 2)\n---\nse.exec_start     :       1500.250000\n";
    }
    std::ofstream(proc.path() / "7/task/8/sched") << "se.exec_start : 12.5\n";
    EXPECT_EQ(cli::last_runs_of(7, proc.path()),
              (cli::LastRuns{{7, 1'500'250'000}, {8, 12'500'000}}));
    EXPECT_EQ(cli::scheduler_clock_ns(proc.path()), 1'500'250'000U);
    EXPECT_TRUE(cli::last_runs_of(9, proc.path()).empty());
}

TEST(LastRuns, tell_who_has_stopped) {
    const auto stopped =
        cli::stopped_before({{7, 100}, {8, 50}, {9, 60}}, {{7, 100}, {8, 70}}, 150);
    EXPECT_EQ(stopped, (std::map<std::uint32_t, std::uint64_t>{{7, 50}}));
}

}  // namespace
}  // namespace lagtrap::why_tests
