#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/console/text_layout.hpp"
#include "cli/reports/report_text.hpp"
#include "formats/format_table.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "tests/unit/server/readable_json.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::report_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

const boost::json::object* find_function(const boost::json::value& list, std::string_view name) {
    for (const auto& entry : list.as_array()) {
        if (entry.at("name").as_string() == name) return &entry.as_object();
    }
    return nullptr;
}

// A query that spends 40 ms in its planner and then waits 200 ms for a lock whose holder burns CPU,
// followed by other delays, with a busy neighbour.
TraceBuilder locked_query() {
    TraceBuilder builder(1000 * ms);
    builder.process(400, "/usr/lib/postgresql/15/bin/postgres").thread(400, 400, "postgres");
    builder.process(500, "/opt/nightly/report --all")
        .thread(500, 500, "report")
        .thread(500, 501, "lock-holder");
    builder.off_cpu(
        0, 500, 500,
        {"_start", "main", "wait_for_work", "k:do_syscall_64", "k:do_epoll_wait", "k:schedule"});
    builder.switched(1 * ms, 0, 0, 0, 400).switched(2 * ms, 1, 0, 0, 501);
    builder.samples(10 * ms, 60 * ms, 0, 400, 400,
                    {"_start", "main", "exec_simple_query", "plan_query", "add_path"});
    builder.samples(10 * ms, 260 * ms, 1, 500, 501,
                    {"clone3", "start_thread", "merge_rows", "planted_lock_holder"});
    builder.switched(60 * ms, 0, 400, 1, 0);
    builder.off_cpu(
        60 * ms, 400, 400,
        {"_start", "main", "exec_simple_query", "run_plan", "LockAcquire", "pthread_mutex_lock",
         "k:do_syscall_64", "k:__x64_sys_futex", "k:futex_wait", "k:schedule"});
    builder.waking(260 * ms, 1, 501, 400)
        .switched(262 * ms, 0, 0, 0, 400)
        .switched(300 * ms, 1, 501, 1, 0);
    builder.off_cpu(300 * ms, 500, 501,
                    {"clone3", "start_thread", "nap", "k:do_nanosleep", "k:schedule"});
    builder.switched(400 * ms, 0, 400, 1, 0);
    builder.off_cpu(400 * ms, 400, 400,
                    {"_start", "main", "read_command", "k:do_syscall_64", "k:tcp_recvmsg"});
    auto query = TraceBuilder::delay(1, "query", 20 * static_cast<std::int64_t>(ms), 250 * ms,
                                     50 * ms, 400, 400);
    query.process = query.thread = "postgres";
    query.program = "/usr/lib/postgresql/15/bin/postgres";
    query.program_version = "15.14-0+deb12u1";
    query.stages = {{"parse", ms / 2, 400}, {"plan", 2 * ms, 400}, {"execute", 38 * ms, 400}};
    query.first = true;
    builder.run(query);
    for (std::uint64_t i = 0; i < 7; ++i) {
        auto other =
            TraceBuilder::delay(2 + i, "query", static_cast<std::int64_t>((400 + 10 * i) * ms),
                                (60 + i) * ms, 50 * ms, 400, 400);
        other.process = "postgres";
        other.thread = "postgres";
        builder.run(other);
    }
    return builder;
}

// A run of 300 ms that has not ended. The recording began at its deadline, 50 ms after its begin.
TraceBuilder open_run() {
    TraceBuilder builder(250 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(240 * ms, 0, 10, 0, 11);
    builder.samples(0, 240 * ms, 0, 10, 10,
                    {"main", "spin_forever", "k:asm_exc_page_fault", "k:clear_page_rep"});
    auto delay = TraceBuilder::delay(1, "never", -50 * static_cast<std::int64_t>(ms), 300 * ms,
                                     50 * ms, 10, 10);
    delay.process = delay.thread = "app";
    delay.open = delay.first = true;
    builder.run(delay);
    builder.system.length_ns = 250 * ms;
    builder.system.trace_length_ns = 50 * ms;
    builder.system.trace_length_limit_ns = 250 * ms;
    builder.system.end = trace::RecordingEnd::Limit;
    builder.system.quality.samples_lost = 12;
    builder.system.quality.switches_lost = 1234567;
    builder.system.partial = true;
    return builder;
}

TEST(Report, explains_a_lock_on_one_screen) {
    const test::TemporaryFolder folder;
    test::write_capture(locked_query(), folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    test::expect_text(outcome.out, "report_lock.txt");
    std::istringstream lines(outcome.out);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80) << line;
    EXPECT_LE(count, 55);
}

// The longest names of everything, each without a space to break a line at.
TEST(Report, is_80_columns_wide_whatever_the_names_are) {
    const auto longest = [](const std::string& begin, std::size_t length) {
        return begin + std::string(length - begin.size(), 'x');
    };
    constexpr std::size_t thread_name = 15;
    constexpr std::size_t event_name = 63;
    constexpr std::size_t any_name = 200;
    TraceBuilder builder(1000 * ms);
    builder.process(400, longest("/srv/", any_name) + " " + longest("--file=/", any_name))
        .unit(400, longest("worker-", any_name) + ".service")
        .thread(400, 400, longest("waiter", thread_name));
    builder.process(500, longest("/opt/", any_name))
        .unit(500, longest("holder-", any_name) + ".service")
        .thread(500, 500, longest("holder", thread_name));
    builder.process(600, longest("/usr/bin/new-", any_name), 1, TraceBuilder::begin_ns + 20 * ms);
    const std::string waits = longest("std::vector<shop::Order>::wait_", any_name);
    const std::string holds = longest("shop::(anonymous namespace)::hold_", any_name);
    builder.switched(1 * ms, 0, 0, 0, 400).switched(2 * ms, 1, 0, 0, 500);
    builder.samples(10 * ms, 60 * ms, 0, 400, 400, {"main", longest("plan_", any_name), waits});
    builder.samples(10 * ms, 260 * ms, 1, 500, 500, {"main", longest("work_", any_name), holds});
    builder.switched(60 * ms, 0, 400, 1, 0);
    builder.off_cpu(60 * ms, 400, 400,
                    {"main", longest("plan_", any_name), waits, "pthread_mutex_lock",
                     "k:do_syscall_64", "k:__x64_sys_futex", "k:futex_wait", "k:schedule"});
    builder.waking(260 * ms, 1, 500, 400).switched(262 * ms, 0, 0, 0, 400);
    for (std::uint64_t number = 1; number < 4; ++number) {
        auto delay = TraceBuilder::delay(number, longest("event_", event_name),
                                         static_cast<std::int64_t>(20 * number * ms), 250 * ms,
                                         50 * ms, 400, 400);
        delay.process = delay.thread = longest("waiter", thread_name);
        delay.program = longest("/srv/", any_name);
        delay.program_version = longest("1.0-", any_name);
        delay.control_group = "/system.slice/" + longest("worker-", any_name) + ".service";
        delay.stages = {{longest("parse_", event_name), ms, 400},
                        {longest("execute_", event_name), 38 * ms, 400}};
        delay.first = number == 1;
        builder.run(delay);
    }
    const test::TemporaryFolder folder;
    test::write_capture(builder, folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(cli::width_of(line), cli::screen_width) << line;
}

TEST(Report, says_what_is_unknown_and_lost) {
    const test::TemporaryFolder folder;
    test::write_capture(open_run(), folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    test::expect_text(outcome.out, "report_open.txt");
}

TraceBuilder with_source_lines() {
    TraceBuilder builder(100 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    const std::string start = "main@/build/app/src/main.cpp:12";
    builder.samples(10 * ms, 40 * ms, 0, 10, 10,
                    {"_start", start,
                     "ns::Store<std::string>::find_or_insert(int)@/build/app/src/store.hpp:1234",
                     "hash_of@/usr/include/a_very_long_name_of_a_header_file.hpp:9"});
    builder.samples(40 * ms, 60 * ms, 0, 10, 10, {"_start", start, "no_line_known"});
    builder.run(TraceBuilder::delay(1, "work", 10 * static_cast<std::int64_t>(ms), 50 * ms, 5 * ms,
                                    10, 10));
    auto& stacks = builder.system.stacks;
    stacks.on_cpu = {1000, 930, 0, 45};
    stacks.off_cpu = {0, 0, 0, 0};
    stacks.delayed = {100, 98, 0, 10};
    stacks.user_stacks = 1000;
    stacks.user_stacks_complete = 900;
    stacks.stops = {{"/opt/app/lib/libvendor.so.4", "gap", 40, 0},
                    {"", "lost", 20, 0},
                    {"[jit]", "no-table", 6, 0},
                    {"/usr/bin/app", "too-deep", 4, 0}};
    stacks.frames_located = 640;
    stacks.naming.modules_gone = 2;
    stacks.naming.modules_left_out = 1;
    return builder;
}

TEST(Report, shows_source_lines_and_what_stopped_stacks) {
    const test::TemporaryFolder folder;
    test::write_capture(with_source_lines(), folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    test::expect_text(outcome.out, "report_lines.txt");
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80) << line;

    const auto report =
        boost::json::parse(test::run_lagtrap({"report", "--json", folder.path().string()}).out)
            .as_object();
    const auto* function = find_function(report.at("delays").at(0).at("functions"), "main");
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->at("source").as_string(), "/build/app/src/main.cpp");
    EXPECT_EQ(function->at("line").to_number<int>(), 12);
    const auto& quality = report.at("quality");
    EXPECT_NEAR(quality.at("on_cpu_stacks_complete").to_number<double>(), 0.93, 0.001);
    EXPECT_TRUE(quality.at("off_cpu_stacks_complete").is_null());
    EXPECT_NEAR(quality.at("delayed_stacks_complete").to_number<double>(), 0.98, 0.001);
    EXPECT_EQ(quality.at("delayed_stacks").to_number<std::uint64_t>(), 100);
    EXPECT_NEAR(quality.at("complete_late").to_number<double>(), 0.05, 0.001);
    EXPECT_EQ(quality.at("stops").at(0).at("reason").as_string(), "gap");
    EXPECT_EQ(quality.at("names").at("modules_gone").to_number<int>(), 2);
}

TraceBuilder with_every_fact() {
    TraceBuilder builder(100 * ms, 1);
    builder.process(10, "/usr/bin/app --password=*** --verbose").thread(10, 10, "app");
    builder.switched(1 * ms, 0, 0, 0, 10);
    builder.samples(10 * ms, 40 * ms, 0, 10, 10, {"_start", "main", "work"});
    builder.switched(40 * ms, 0, 10, 1, 0);
    auto delay =
        TraceBuilder::delay(1, "work", 10 * static_cast<std::int64_t>(ms), 50 * ms, 5 * ms, 10, 10);
    delay.process = "app";
    delay.thread = "main-thread";
    delay.end_tid = 12;
    delay.program = "/usr/bin/app";
    delay.program_version = "1.2-3";
    delay.unit = "app.service";
    delay.user = "joe";
    delay.earlier_begin = true;
    delay.queued_ns = 3 * ms;
    delay.trace.trace_id = "0af7651916cd43dd8448eb211c80319c";
    delay.trace.parent_span_id = "b7ad6b7169203331";
    delay.without_stages = true;
    builder.context(10 * ms, 10, delay.trace.trace_id, "00f067aa0ba902b7",
                    {{"http.route", "/checkout"}, {"tenant", "A"}});
    builder.run(delay);
    auto other = TraceBuilder::delay(2, "other", 15 * static_cast<std::int64_t>(ms), 20 * ms,
                                     5 * ms, 10, 10);
    other.process = other.thread = "app";
    other.no_trace = "no-id";
    other.in_go = true;
    other.goroutine = 17;
    builder.run(other);
    builder.system.quality.omitted = {"user stacks of threads that block, over budget"};
    builder.system.quality.truncated_by_size = true;
    return builder;
}

TEST(Report, shows_every_fact_of_a_delay) {
    const test::TemporaryFolder folder;
    test::write_capture(with_every_fact(), folder.path());
    std::string shown;
    for (const char* number : {"1", "2"}) {
        const auto outcome =
            test::run_lagtrap({"report", "--delay", number, folder.path().string()});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        shown += "# delay " + std::string(number) + "\n" + outcome.out;
    }
    test::expect_text(shown, "report_facts.txt");
}

TEST(Report, shows_a_recording_without_delays) {
    const test::TemporaryFolder folder;
    TraceBuilder builder(100 * ms);
    builder.system.trigger_reason = "manual";
    builder.system.trigger_event = "query";
    test::write_capture(builder, folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    test::expect_text(outcome.out, "report_nothing.txt");
}

TEST(Report, gives_json_with_shares) {
    const test::TemporaryFolder folder;
    test::write_capture(locked_query(), folder.path());
    const auto outcome =
        test::run_lagtrap({"report", "--json", "--delay", "1", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto report = boost::json::parse(outcome.out);
    ASSERT_EQ(report.at("delays").as_array().size(), 1);
    const auto& delay = report.at("delays").at(0);
    EXPECT_EQ(delay.at("event").as_string(), "query");
    EXPECT_EQ(delay.at("split").at("blocked_ns").to_number<std::uint64_t>(), 200 * ms);
    EXPECT_EQ(delay.at("split").at("blocked").at(0).at("reason").as_string(), "lock (futex)");
    const auto* function = find_function(delay.at("functions"), "LockAcquire");
    ASSERT_NE(function, nullptr);
    EXPECT_NEAR(function->at("share").to_number<double>(), 0.808, 0.001);
    const auto& holder = delay.at("wakers").at(0);
    EXPECT_EQ(holder.at("thread").as_string(), "lock-holder");
    const auto* held = find_function(holder.at("functions"), "planted_lock_holder");
    ASSERT_NE(held, nullptr);
    EXPECT_NEAR(held->at("share").to_number<double>(), 1.0, 0.001);
    EXPECT_EQ(report.at("runs").at("query").at("delays").to_number<int>(), 8);
}

TEST(Report, gives_all_of_it_as_json) {
    const auto json_of = [](const TraceBuilder& builder, const std::vector<std::string>& more) {
        const test::TemporaryFolder folder;
        test::write_capture(builder, folder.path());
        std::vector<std::string> words{"report", "--json", folder.path().string()};
        words.insert(words.end(), more.begin(), more.end());
        const auto outcome = test::run_lagtrap(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return server::readable(boost::json::parse(outcome.out)) + "\n";
    };
    test::expect_text(json_of(locked_query(), {"--delay", "1"}), "report_lock.json");
    test::expect_text(json_of(open_run(), {}), "report_open.json");
    TraceBuilder lines = with_source_lines();
    trace::NamingQuality& naming = lines.system.stacks.naming;
    naming.modules = 11;
    naming.modules_damaged = 13;
    naming.places_left_out = 15;
    naming.lines_left_out = 16;
    lines.system.stacks.other_stops = {"", "", 7, 3};
    test::expect_text(json_of(lines, {}), "report_lines.json");
    TraceBuilder facts = with_every_fact();
    trace::Delay& delay = facts.system.delays.at(0);
    delay.key = 77;
    delay.end_pid = 14;
    delay.control_group = "/system.slice/app.service";
    delay.program_build_id = "00ff";
    facts.system.os_name = "Debian GNU/Linux 12";
    facts.system.kernel_release = "6.1.0";
    facts.system.started_realtime_ns = 1'700'000'000'000'000'007;
    test::expect_text(json_of(facts, {}), "report_facts.json");
}

TEST(Report, delays_are_chosen_by_number) {
    const test::TemporaryFolder folder;
    test::write_capture(locked_query(), folder.path());
    const auto third = test::run_lagtrap({"report", "--delay", "3", folder.path().string()});
    EXPECT_THAT(third.out, testing::StartsWith("query took 61.0 ms"));
    const auto none = test::run_lagtrap({"report", "--delay", "9", folder.path().string()});
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.err, "lagtrap: there is no delay 9; the recording has 8\n");
    EXPECT_EQ(test::run_lagtrap({"report", "--delay", "0", folder.path().string()}).code, 1);
    EXPECT_EQ(test::run_lagtrap({"report", "--delay", "x", folder.path().string()}).code, 2);
}

TEST(Report, reads_bundles_and_finds_them_in_the_spool) {
    const test::TemporaryFolder folder;
    const TraceBuilder builder = locked_query();
    test::write_capture(builder, folder.path() / "capture");
    std::filesystem::create_directories(folder.path() / "spool/sent");
    const auto bundle = trace::write_bundle(folder.path() / "capture", builder.system.session_id,
                                            folder.path() / "spool/sent");
    ASSERT_TRUE(bundle) << bundle.error().message;
    const std::string spool = folder.string("spool");
    const auto by_file = test::run_lagtrap({"report", bundle->path.string()});
    EXPECT_EQ(by_file.code, 0) << by_file.err;
    test::expect_text(by_file.out, "report_lock.txt");
    EXPECT_EQ(test::run_lagtrap({"report", "--spool", spool}).out, by_file.out);
    EXPECT_EQ(test::run_lagtrap({"report", "--spool", spool, "3f0c1c5e"}).out, by_file.out);

    EXPECT_EQ(test::run_lagtrap({"report", "--spool", spool, "3f0"}).err,
              "lagtrap: \"3f0\" is not a file, and too short for a session id; give 4 characters "
              "or more\n");
    EXPECT_EQ(test::run_lagtrap({"report", "--spool", spool, "4f0c"}).err,
              "lagtrap: no file \"4f0c\", and no bundle in the spool " + spool +
                  " whose name begins like this\n");
    EXPECT_EQ(test::run_lagtrap({"report", "--spool", folder.string("none")}).err,
              "lagtrap: no bundle in the spool " + folder.string("none") +
                  "; name a file, or another spool with --spool\n");
    EXPECT_EQ(test::run_lagtrap({"report", "./nothing.pftrace"}).err,
              "lagtrap: no such file: ./nothing.pftrace\n");
}

TEST(Report, refuses_damaged_recordings) {
    const test::TemporaryFolder folder;
    test::write_capture(locked_query(), folder.path());
    std::ofstream(folder.path() / "trace.pftrace") << "\x0a\x7fnot a trace";
    const auto trace = test::run_lagtrap({"report", folder.path().string()});
    EXPECT_EQ(trace.code, 1);
    EXPECT_THAT(trace.err, testing::HasSubstr("the trace is damaged"));
    std::ofstream(folder.path() / "system.xml") << "<wrong/>";
    const auto system = test::run_lagtrap({"report", folder.path().string()});
    EXPECT_EQ(system.code, 1);
    EXPECT_THAT(system.err, testing::HasSubstr("reading the system file of"));
    std::ofstream(folder.path() / "x.lagtrap.tar.zst") << "no archive";
    EXPECT_EQ(test::run_lagtrap({"report", folder.string("x.lagtrap.tar.zst")}).code, 1);
}

TEST(Report, shows_no_control_characters_of_names) {
    const test::TemporaryFolder folder;
    TraceBuilder builder(100 * ms);
    builder.process(10, "/bin/evil")
        .thread(10, 10, "evil\x1b]0;gotcha\x07")
        .switched(1 * ms, 0, 0, 0, 10);
    builder.samples(10 * ms, 50 * ms, 0, 10, 10, {"main", "fn\x1b[2J"});
    auto delay =
        TraceBuilder::delay(1, "work", 10 * static_cast<std::int64_t>(ms), 40 * ms, 5 * ms, 10, 10);
    delay.process = "a\nb";
    builder.run(delay);
    test::write_capture(builder, folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(outcome.out.find('\x07'), std::string::npos);
}

TEST(Report, says_where_something_was_masked) {
    const auto report_of = [](const char* command_line) {
        TraceBuilder builder(100 * ms, 1);
        builder.process(10, command_line).thread(10, 10, "app");
        builder.samples(10 * ms, 60 * ms, 0, 10, 10, {"main", "work"});
        builder.run(TraceBuilder::delay(1, "request", 10 * static_cast<std::int64_t>(ms), 50 * ms,
                                        5 * ms, 10, 10));
        const auto recording = builder.decode();
        return recording
                   ? cli::report_text(*recording, std::nullopt, {cli::Paint(false), 80, false})
                   : std::string();
    };
    EXPECT_THAT(
        report_of("/srv/app --password=*** --port 80"),
        testing::HasSubstr("\n  command   /srv/app --password=*** --port 80\n"
                           "            (*** is a password, token or key that lagtrapd masked)\n"));
    EXPECT_THAT(report_of("/srv/app --port 80"), testing::Not(testing::HasSubstr("masked")));
}

TEST(Report, says_whose_process_it_was_and_why_it_was_slow) {
    const test::TemporaryFolder folder;
    TraceBuilder builder(100 * ms, 1);
    builder.process(10, "/usr/bin/python3 /srv/app.py --port 80").thread(10, 10, "python3");
    builder.process(11, "/usr/sbin/logrotate /etc/logrotate.conf", 1,
                    TraceBuilder::begin_ns + 20 * ms);
    builder.switched(1 * ms, 0, 0, 0, 10);
    builder.samples(10 * ms, 60 * ms, 0, 10, 10,
                    {"main", "a_function_with_a_long_name", "another_such_function", "work"});
    auto delay = TraceBuilder::delay(1, "request", 10 * static_cast<std::int64_t>(ms), 50 * ms,
                                     5 * ms, 10, 10);
    delay.process = delay.thread = "python3";
    delay.program = "/usr/bin/python3.11";
    delay.control_group = "/system.slice/app.service";
    builder.run(delay);
    test::write_capture(builder, folder.path());
    const auto outcome = test::run_lagtrap({"report", folder.path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                testing::HasSubstr("\n  command   /usr/bin/python3 /srv/app.py --port 80\n"));
    EXPECT_THAT(outcome.out, testing::HasSubstr("\n  unit      app.service\n"));
    EXPECT_THAT(outcome.out,
                testing::HasSubstr("\nCause\n  Computed for 50.0 ms (100 %) in work.\n"));
    EXPECT_THAT(outcome.out, testing::HasSubstr(
                                 "logrotate (11) was started: /usr/sbin/logrotate /etc/logrotate"));
    // The end of a chain is shown at any width; with more room, the whole chain.
    EXPECT_THAT(outcome.out,
                testing::ContainsRegex(
                    "100 %  main > \\.\\.\\. > another_such_function > work +on CPU 100 %\n"));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto wide = cli::report_text(*recording, std::nullopt, {cli::Paint(false), 120, false});
    EXPECT_THAT(wide, testing::HasSubstr(
                          "main > a_function_with_a_long_name > another_such_function > work "));
    const auto all = test::run_lagtrap({"report", "--all", folder.path().string()});
    EXPECT_THAT(all.out,
                testing::HasSubstr(
                    "\nStacks  innermost last\n  100 %  main > a_function_with_a_long_name > "));

    const auto json =
        boost::json::parse(test::run_lagtrap({"report", "--json", folder.path().string()}).out);
    const auto& reported = json.at("delays").at(0);
    EXPECT_EQ(reported.at("command_line").as_string(), "/usr/bin/python3 /srv/app.py --port 80");
    EXPECT_EQ(reported.at("unit").as_string(), "app.service");
    EXPECT_EQ(reported.at("began_around").at(0).at("pid").to_number<int>(), 11);
    EXPECT_EQ(reported.at("cause").at("sentences").at(0).as_string(),
              "Computed for 50.0 ms (100 %) in work.");
    EXPECT_EQ(reported.at("cause").at("parts").at(0).at("place").at("function").as_string(),
              "work");
    EXPECT_EQ(reported.at("calls").at(0).at("functions").as_array().size(), 4);
}

TEST(Export, writes_every_form) {
    const test::TemporaryFolder folder;
    const TraceBuilder builder = locked_query();
    const std::string capture = folder.string("capture");
    test::write_capture(builder, capture);
    test::expect_text(test::run_lagtrap({"export", capture}).out, "folded_on_cpu.txt");
    test::expect_text(test::run_lagtrap({"export", "--off-cpu", capture}).out,
                      "folded_off_cpu.txt");
    EXPECT_EQ(
        test::run_lagtrap({"export", "--off-cpu", "--delay", "1", capture}).out,
        "postgres;postgres;_start;main;exec_simple_query;run_plan;LockAcquire;pthread_mutex_lock;"
        "do_syscall_64_[k];__x64_sys_futex_[k];futex_wait_[k];schedule_[k];blocked: lock (futex) "
        "200000\n"
        "postgres;postgres;_start;main;exec_simple_query;run_plan;LockAcquire;pthread_mutex_lock;"
        "do_syscall_64_[k];__x64_sys_futex_[k];futex_wait_[k];schedule_[k];waits for a CPU 2000\n");
    EXPECT_EQ(test::run_lagtrap({"export", "--format", "pftrace", capture}).out, builder.trace());
    EXPECT_EQ(test::run_lagtrap({"export", "--format", "system", capture}).out,
              trace::write_system_file(builder.system));

    const auto to_file =
        test::run_lagtrap({"export", "--format", "pftrace", "-o", folder.string("t"), capture});
    EXPECT_EQ(to_file.code, 0) << to_file.err;
    EXPECT_EQ(std::filesystem::file_size(folder.path() / "t"), builder.trace().size());
    EXPECT_EQ(test::run_lagtrap({"export", "--format", "gif", capture}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"export", "--delay", "99", capture}).code, 1);
    EXPECT_EQ(test::run_lagtrap({"export", "--thread", "nobody", capture}).code, 1);
    EXPECT_EQ(test::run_lagtrap({"export", "--on-cpu", "--all", capture}).code, 2);
    for (const std::vector<std::string>& choice : {std::vector<std::string>{"--delay", "1"},
                                                   {"--thread", "postgres"},
                                                   {"--on-cpu"},
                                                   {"--off-cpu"},
                                                   {"--all"}}) {
        std::vector<std::string> words{"export", "--format", "system", capture};
        words.insert(words.end(), choice.begin(), choice.end());
        const auto whole = test::run_lagtrap(words);
        EXPECT_EQ(whole.code, 2) << choice[0];
        EXPECT_EQ(whole.err,
                  "lagtrap: --format system exports the whole recording; it does not accept "
                  "--delay, --thread, --on-cpu, --off-cpu and --all\n");
    }
    const auto listed = test::run_lagtrap({"export", "--list-formats"});
    EXPECT_EQ(listed.out, formats::list_formats());
    EXPECT_NE(
        test::run_lagtrap({"export", "--help"}).out.find("speedscope  profile of each thread"),
        std::string::npos);
    EXPECT_EQ(test::run_lagtrap({"export", "-o", folder.string("no/such/folder"), capture}).code,
              1);
}

}  // namespace
}  // namespace lagtrap::report_tests
