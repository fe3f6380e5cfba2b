// The events that `lagtrap watch` makes, and its output while it waits.
#include <algorithm>
#include <fstream>
#include <optional>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/watch/watch_check.hpp"
#include "cli/watch/watch_event.hpp"
#include "cli/watch/watch_function.hpp"
#include "cli/watch/watch_text.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::watch_tests {
namespace {

using cli::watch_element;
using cli::WatchWish;
using namespace std::chrono_literals;
using testing::HasSubstr;

cli::AddTarget shop() { return {"/usr/bin/shop", "/usr/bin/shop", "", {}}; }

TEST(WatchEvent, is_of_a_function_in_a_program) {
    const auto element = watch_element({"buy", "", "", "", "50ms", shop(), {}});
    ASSERT_TRUE(element);
    EXPECT_EQ(*element,
              "  <event name=\"shop-buy\" threshold=\"50ms\"\n         binary=\"/usr/bin/shop\">\n"
              "    <function name=\"buy\"/>\n  </event>\n");
}

TEST(WatchEvent, is_of_one_process) {
    const auto element = watch_element({"buy", "", "", "", "2s", shop(), 4711});
    ASSERT_TRUE(element);
    EXPECT_THAT(*element, HasSubstr("<scope pid=\"4711\"/>"));
    EXPECT_THAT(*element, HasSubstr("threshold=\"2s\""));
}

TEST(WatchEvent, is_of_a_system_call) {
    const auto anywhere = watch_element({"", "", "fsync", "", "5ms", {}, {}});
    ASSERT_TRUE(anywhere);
    EXPECT_EQ(*anywhere,
              "  <event name=\"machine-fsync\" threshold=\"5ms\">\n"
              "    <begin tracepoint=\"syscalls:sys_enter_fsync\"/>\n"
              "    <end tracepoint=\"syscalls:sys_exit_fsync\"/>\n  </event>\n");
    const auto there = watch_element({"", "", "fsync", "", "5ms", shop(), {}});
    ASSERT_TRUE(there);
    EXPECT_THAT(*there, HasSubstr("<scope binary=\"/usr/bin/shop\"/>"));
}

TEST(WatchEvent, is_of_a_pair_of_tracepoints) {
    WatchWish wish;
    wish.over = "5ms";
    wish.tracepoint = "block:block_rq_issue";
    wish.until = "block:block_rq_complete";
    EXPECT_EQ(*watch_element(wish),
              "  <event name=\"machine-block_rq_issue\" threshold=\"5ms\">\n"
              "    <begin tracepoint=\"block:block_rq_issue\"/>\n"
              "    <end tracepoint=\"block:block_rq_complete\"/>\n  </event>\n");
    wish.key = "dev,sector";
    wish.stages = {"block:block_rq_merge"};
    EXPECT_EQ(*watch_element(wish),
              "  <event name=\"machine-block_rq_issue\" threshold=\"5ms\" breach=\"end\">\n"
              "    <key scope=\"machine\"/>\n"
              "    <begin tracepoint=\"block:block_rq_issue\" key=\"dev,sector\"/>\n"
              "    <end tracepoint=\"block:block_rq_complete\" key=\"dev,sector\"/>\n"
              "    <stage name=\"block_rq_merge\" tracepoint=\"block:block_rq_merge\"/>\n"
              "  </event>\n");
    wish.target = shop();
    wish.stages = {"shop::pay(int)"};
    EXPECT_THAT(*watch_element(wish),
                testing::AllOf(HasSubstr("<scope binary=\"/usr/bin/shop\"/>"),
                               testing::Not(HasSubstr("machine")),
                               HasSubstr("<stage name=\"pay\" function=\"shop::pay(int)\" "
                                         "binary=\"/usr/bin/shop\"/>")));
}

TEST(WatchEvent, is_of_the_file_that_a_process_still_runs) {
    WatchWish wish{"buy", "", "", "", "50ms", shop(), {}};
    wish.target->outdated = true;
    wish.target->processes = {{24, "shop", {"/usr/bin/shop (deleted)"}, ""}};
    EXPECT_THAT(*watch_element(wish), testing::AllOf(HasSubstr("name=\"shop-buy\""),
                                                     HasSubstr("binary=\"/proc/24/exe\"")));
}

TEST(WatchCheck, RefusesSystemCallsOf32BitPrograms) {
    const test::TemporaryFolder folder;
    const auto written = [&](const std::string& name, const std::string& head) {
        std::ofstream(folder.path() / name) << head << std::string(60, '\0');
        return cli::check_calls_of(folder.path() / name);
    };
    EXPECT_THAT(
        written("narrow",
                "\x7f"
                "ELF\1")
            .error()
            .message,
        testing::EndsWith("narrow: is a 32-bit program; only system calls of 64-bit programs "
                          "can be watched"));
    EXPECT_TRUE(written("wide",
                        "\x7f"
                        "ELF\2")
                    .ok());
    EXPECT_TRUE(written("script", "#!/bin/sh").ok());
    EXPECT_TRUE(cli::check_calls_of(folder.path() / "none").ok());
}

TEST(WatchEvent, has_stages) {
    WatchWish wish{"buy", "", "", "", "50ms", shop(), {}};
    wish.stages = {"app::pay", "shop:shipped"};
    EXPECT_THAT(*watch_element(wish),
                HasSubstr("    <function name=\"buy\"/>\n"
                          "    <stage name=\"pay\" function=\"app::pay\"/>\n"
                          "    <stage name=\"shipped\" usdt=\"shop:shipped\"/>\n  </event>\n"));
}

TEST(WatchEvent, is_of_a_preset) {
    EXPECT_EQ(*watch_element({"", "", "", "nginx", "", {}, {}}), "  <use preset=\"nginx\"/>\n");
    EXPECT_EQ(*watch_element({"", "", "", "nginx", "9ms", {}, 7}),
              "  <use preset=\"nginx\" threshold=\"9ms\">\n    <scope pid=\"7\"/>\n  </use>\n");
}

TEST(WatchEvent, is_of_a_unit) {
    cli::AddTarget target = shop();
    target.unit = "shop.service";
    EXPECT_EQ(*watch_element({"buy", "", "", "", "50ms", target, {}}),
              "  <event name=\"shop-buy\" threshold=\"50ms\"\n         binary=\"/usr/bin/shop\">\n"
              "    <scope unit=\"shop.service\"/>\n    <function name=\"buy\"/>\n  </event>\n");
    EXPECT_EQ(*watch_element({"", "", "", "nginx", "", target, {}}),
              "  <use preset=\"nginx\">\n    <scope unit=\"shop.service\"/>\n  </use>\n");
}

TEST(WatchEvent, is_of_a_pair_of_probes) {
    const std::string postgres = "/usr/lib/postgresql/15/bin/postgres";
    const auto element = [](const std::string& program, const std::string& usdt) {
        return watch_element(
            {"", usdt, "", "", "1s", cli::AddTarget{program, program, "", {}}, {}});
    };
    const std::string end = "\" threshold=\"1s\"\n         binary=\"" + postgres +
                            "\">\n    <usdt provider=\"postgresql\" name=\"query\"/>\n"
                            "  </event>\n";
    EXPECT_EQ(*element(postgres, "postgresql:query"), "  <event name=\"postgres-query" + end);
    EXPECT_EQ(*element(postgres, "postgresql:query__start"),
              "  <event name=\"postgres-query__start" + end);
    EXPECT_THAT(
        element(postgres, "postgresql:quer").error().message,
        testing::AllOf(testing::StartsWith(postgres + " has no pair of probes that begins with "
                                                      "postgresql:quer; it has postgresql:"),
                       HasSubstr("postgresql:query__start")));
    EXPECT_EQ(element("/usr/bin/env", "a:b").error().message,
              "/usr/bin/env has no pair of probes that begins with a:b; it has no pairs");
}

TEST(WatchEvent, says_what_is_missing) {
    EXPECT_THAT(watch_element({"buy", "", "", "", "", shop(), {}}).error().message,
                HasSubstr("--over is missing"));
    EXPECT_THAT(watch_element({"buy", "", "", "", "1s", {}, {}}).error().message,
                HasSubstr("--in is missing"));
}

TEST(WatchCheck, knows_the_system_calls) {
    const std::vector<std::string> known{"sys_enter_fsync", "sys_exit_fsync",
                                         "sys_enter_fdatasync"};
    EXPECT_TRUE(cli::check_syscall("fsync", known).ok());
    EXPECT_TRUE(cli::check_syscall("anything", {}).ok()) << "unknown is no error";
    EXPECT_THAT(cli::check_syscall("fsnc", known).error().message,
                HasSubstr("no system call fsnc to watch; did you mean fsync?"));
    EXPECT_THAT(cli::check_syscall("frobnicate", known).error().message,
                HasSubstr("list-markers --tracepoints"));
}

TEST(WatchFunction, is_found_by_a_short_name) {
    const std::vector<cli::FunctionWay> functions{
        {"shop::buy(int)", "shop::buy(int)", "", true},
        {"shop::sell(int)", "shop::sell(int)", "", true},
        {"shop::sell(long)", "shop::sell(long)", "", true},
        {"sell", "", "", true},
        {"idle()", "idle()", "it never returns", false}};
    const auto chosen = [&](const std::string& wanted) {
        return cli::choose_function(functions, wanted, "/usr/bin/shop");
    };
    EXPECT_EQ(*chosen("buy"), "shop::buy(int)");
    EXPECT_EQ(*chosen("shop::buy"), "shop::buy(int)");
    EXPECT_EQ(*chosen("shop::sell(long)"), "shop::sell(long)");
    EXPECT_EQ(*chosen("sell"), "sell");
    EXPECT_THAT(chosen("shop::sell").error().message,
                HasSubstr("2 functions are called shop::sell"));
    EXPECT_THAT(chosen("idle").error().message, HasSubstr("it never returns"));
    EXPECT_THAT(chosen("give").error().message, HasSubstr("/usr/bin/shop has no function give"));
}

TEST(WatchFunction, that_is_not_clear_is_refused_with_a_list) {
    std::vector<cli::FunctionWay> functions;
    const auto chosen = [&](const std::string& wanted) {
        const auto function = cli::choose_function(functions, wanted, "shop");
        return function ? *function : function.error().message;
    };
    EXPECT_EQ(
        chosen("buy\x1b"),
        "shop has no function buy\\x1b; \"lagtrap list-markers --functions shop\" lists them");
    std::string five;
    for (int i = 0; i < 5; ++i) {
        const std::string name = "shop::buy(type_" + std::to_string(i) + ")";
        functions.push_back({name, name, "1 exit", true});
        five += "\n  " + name;
    }
    EXPECT_EQ(chosen("buy"), "5 functions are called buy; give the whole name of one:" + five);
    functions.push_back({"shop::buy(last)", "", "1 exit", true});
    EXPECT_EQ(chosen("buy"),
              "6 functions are called buy; give the whole name of one:" + five + "\n  and 1 more");
    EXPECT_EQ(chosen("shop::buy(last)"), "shop::buy(last)") << "it has no other name";
    functions.push_back({"rebuy(int)", "rebuy(int)", "not: never returns", false});
    EXPECT_EQ(chosen("rebuy"), "rebuy(int) cannot be watched: not: never returns");
    functions.push_back({"shop::hidden(int)", "hidden@1", "1 exit", true});
    EXPECT_EQ(chosen("hidden@1"), "hidden@1");
    EXPECT_EQ(chosen("shop::hidden"), "hidden@1");
}

TEST(WatchText, adds_events_up) {
    const auto status = boost::json::parse(R"({"events":[
        {"armed":true,"runs":30,"delays":2,"open":1,"max_ns":9000000,"problem":""},
        {"armed":false,"runs":10,"delays":0,"open":0,"max_ns":2000000,
        "problem":"no such file"}]})");
    const auto watched = cli::watched_in(status.as_object());
    EXPECT_EQ(watched.runs, 40U);
    EXPECT_EQ(watched.delays, 2U);
    EXPECT_EQ(watched.max_ns, 9'000'000U);
    EXPECT_EQ(watched.problem, "");
    EXPECT_THAT(cli::runs_text(watched, 4s),
                testing::StartsWith("40 runs, 10 per second; half within "));
    EXPECT_THAT(cli::summary_text(watched, 4s, 1),
                testing::EndsWith("2 runs were too slow, 1 shown."));
}

TEST(WatchText, is_whole) {
    const auto status = boost::json::parse(R"({"events":[
        {"armed":true,"runs":300,"delays":2,"open":1,"max_ns":9000000,"histogram":[
          {"from_ns":1000000,"to_ns":2000000,"count":300}]},3,
        {"armed":true,"runs":100,"delays":1,"open":2,"max_ns":7000000,"histogram":[
          {"from_ns":1000000,"to_ns":2000000,"count":60},
          {"from_ns":4000000,"to_ns":8000000,"count":40}]}]})");
    const auto watched = cli::watched_in(status.as_object());
    EXPECT_EQ(watched.open, 3U);
    EXPECT_EQ(
        cli::runs_text(watched, 80s),
        "400 runs, 5.0 per second; half within 1.56 ms, 99 % within 7.60 ms, longest 9.00 ms");
    EXPECT_EQ(cli::summary_text(watched, 80s, 3),
              "Watched for 80.0 s: " + cli::runs_text(watched, 80s) + ". 3 runs were too slow.");
    EXPECT_EQ(
        cli::summary_text(watched, 80s, 2),
        "Watched for 80.0 s: " + cli::runs_text(watched, 80s) + ". 3 runs were too slow, 2 shown.");
    cli::Watched one;
    one.open = 1200;
    EXPECT_EQ(cli::runs_text(one, 1s), "no run has ended yet, 1,200 open");
    one.runs = one.delays = 1;
    EXPECT_EQ(cli::runs_text(one, 0s),
              "1 run, 1000 per second; half within 0 ns, 99 % within 0 ns, longest 0 ns");
    EXPECT_THAT(cli::summary_text(one, 1s, 1), testing::EndsWith(". 1 run was too slow."));
}

TEST(WatchText, fits_a_line_and_says_what_it_costs) {
    cli::Watched watched;
    watched.used_ppm = 2'345;
    EXPECT_EQ(cli::progress_text(watched, 4s), "no run yet; costs 0.2 % of a CPU");
    watched.runs = 400;
    watched.p50_ns = 1'560'000;
    watched.p99_ns = 7'600'000;
    watched.max_ns = 9'000'000;
    EXPECT_EQ(cli::progress_text(watched, 80s),
              "400 runs, 5.0/s: p50 1.56 ms, p99 7.60 ms, longest 9.00 ms; costs 0.2 % of a CPU");
}

TEST(WatchText, draws_the_distribution) {
    cli::Watched watched;
    EXPECT_EQ(cli::distribution_text(watched), "");
    watched.histogram = {{0, 999, 1},
                         {1'024, 1'500, 10},
                         {1'600, 1'700, 10},
                         {2'048, 3'000, 0},
                         {5'000'000, 6'000'000, 2}};
    EXPECT_EQ(cli::distribution_text(watched),
              "  from     0 ns           1  ##\n"
              "  from  1.00 us          20  ########################################\n"
              "  from  5.00 ms           2  ####\n");
    for (std::uint64_t from_ns = 1'000; from_ns < 10'000'000; from_ns *= 2)
        watched.histogram.push_back({from_ns, 2 * from_ns, 1});
    const std::string text = cli::distribution_text(watched);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << "by powers of ten\n" << text;
}

TEST(WatchText, proposes_a_threshold_that_no_run_exceeded) {
    cli::Watched watched;
    EXPECT_EQ(cli::threshold_from(watched), std::nullopt);
    watched.runs = 3;
    watched.p99_ns = 2'000'000;
    watched.max_ns = 9'000'000;
    EXPECT_EQ(cli::threshold_from(watched), "20ms");
    watched.p99_ns = 9'000'000;
    EXPECT_EQ(cli::threshold_from(watched), "50ms");
}

TEST(WatchText, says_why_nothing_is_watched) {
    const auto status =
        boost::json::parse(R"({"events":[{"armed":false,"problem":"no such file"}]})");
    EXPECT_EQ(cli::watched_in(status.as_object()).problem, "no such file");
    EXPECT_EQ(cli::runs_text({}, 4s), "no run yet");
}

TEST(WatchCheck, an_unknown_preset_has_a_nearest_name_or_a_list) {
    WatchWish wish;
    wish.preset = "ngix";
    const auto near = cli::check_names(wish);
    ASSERT_FALSE(near);
    EXPECT_THAT(near.error().message, testing::EndsWith("; did you mean nginx?"));
    wish.preset = "something-else-entirely";
    const auto far = cli::check_names(wish);
    ASSERT_FALSE(far);
    EXPECT_THAT(far.error().message, testing::EndsWith("; `lagtrap presets` lists all"));
    wish.preset = "nginx";
    EXPECT_TRUE(cli::check_names(wish).ok());
}

}  // namespace
}  // namespace lagtrap::watch_tests
