#include "cli/calls/functions_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::functions_text_test {
namespace {

using calls::FunctionsEnded;
using calls::FunctionsStarted;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;
const CallsLook plain{Paint(false), 80, false, false};
const CallsLook everything{Paint(false), 80, true, false};
constexpr const char* hooks_title =
    "\n  functions  entry               end                a call  why\n";

calls::Function function_named(const std::string& name, const std::string& source = "") {
    calls::Function function;
    function.name = name;
    function.source = source;
    function.line = 7;
    return function;
}

FunctionsStarted shop() {
    FunctionsStarted started;
    started.pid = 42;
    started.process = "shop";
    started.attached_by = "uprobe_multi";
    started.plan_ns = 1500 * ms;
    started.attach_ns = 20 * ms;
    return started;
}

TEST(FunctionsStartedText, TellsWhatIsWatchedAndWhatIsNot) {
    FunctionsStarted started = shop();
    started.functions.resize(1234);
    started.own_files = {"/opt/shop/bin/shop", "/opt/shop/a.so", "/opt/b.so", "/opt/c.so"};
    started.system_files = {{"C library", 1}, {"of the system", 2000}};
    started.system_functions = {{"allocator", 12}, {"start and end of programs", 3}};
    started.moved_in = 1500;
    started.moved_out = 1;
    started.beyond_limit = 2000;
    started.refused = {{"too short", 1000}, {"jumps into it", 4}};
    const std::string begin =
        "Functions of shop (42): 1,234 watched, of shop, a.so, b.so, c.so\n"
        "  not watched: 2,001 files (1 C library, 2,000 of the system)\n"
        "  not watched: 12 allocator, 3 start and end of programs\n"
        "  by --include: 1,500 more\n"
        "  by --exclude: 1 fewer\n"
        "  over the limit: 2,000; narrow with --exclude\n"
        "  cannot be probed: 1,004";
    const std::string end = std::string(hooks_title) +
                            "  by uprobe_multi\n"
                            "  found in 1.50 s, attached in 20.0 ms\n\n";
    EXPECT_EQ(functions_started_text(started, plain), begin + " (--all says why)\n" + end);
    EXPECT_EQ(functions_started_text(started, everything),
              begin + "\n    1,000: too short\n    4: jumps into it\n" + end);
    started.own_files.insert(started.own_files.end(), {"/opt/d.so", "/opt/e.so"});
    started.system_files = {{"C library", 1}};
    const std::string more = functions_started_text(started, plain);
    EXPECT_THAT(more, HasSubstr("of shop, a.so, b.so, c.so and 2 others\n"));
    EXPECT_THAT(more, HasSubstr("  not watched: 1 file (1 C library)\n"));
}

TEST(FunctionsStartedText, IsSilentAboutWhatThereIsNot) {
    EXPECT_EQ(functions_started_text(shop(), plain),
              "Functions of shop (42): those that its runtime reports\n" +
                  std::string(hooks_title) +
                  "  by uprobe_multi\n"
                  "  found in 1.50 s, attached in 20.0 ms\n\n");
    FunctionsStarted one = shop();
    one.moved_in = 1;
    EXPECT_THAT(functions_started_text(one, plain), HasSubstr("  by --include: 1 more\n"));
    one.moved_in = 0;
    one.beyond_limit = 1;
    EXPECT_THAT(functions_started_text(one, plain), HasSubstr("  over the limit: 1; narrow"));
}

TEST(FunctionsStartedText, TheReasonOfAHookIsOnItsLineIfItFits) {
    FunctionsStarted started = shop();
    const std::string fits(18, 'x'), does_not(21, 'y');
    started.hooks = {{"uprobe", "uretprobe", fits, 1200, 1500},
                     {"runtime", "none", does_not, 0, 0}};
    EXPECT_THAT(functions_started_text(started, plain),
                HasSubstr(std::string(hooks_title) +
                          "      1,200  uprobe              uretprobe         1.50 us  " + fits +
                          "\n"
                          "          -  runtime             none                    -\n"
                          "             " +
                          does_not + "\n  by uprobe_multi\n"));
}

class FunctionsEndedText : public testing::Test {
  protected:
    FunctionsEndedText() {
        ended_.reason = "the time is over";
        ended_.length_ns = 2 * s;
        ended_.detach_ns = 30 * ms;
        ended_.min_ns = 5 * us;
        ended_.sent = 1;
        ended_.bytes = 4096;
    }
    void add(std::uint32_t function, std::uint64_t calls, std::uint64_t own_ns,
             std::uint64_t longest_ns, std::uint64_t unbegun = 0) {
        calls::FunctionTotals totals;
        totals.function = function;
        totals.calls = calls;
        totals.own_ns = own_ns;
        totals.longest_ns = longest_ns;
        totals.unbegun = unbegun;
        ended_.totals.push_back(totals);
    }
    [[nodiscard]] std::string text(std::size_t top = 20) const {
        return functions_ended_text(ended_, functions_, top, plain);
    }
    FunctionsEnded ended_;
    std::vector<calls::Function> functions_{
        function_named("main"), function_named("work", "/src/work.c"), function_named("between")};
};

TEST_F(FunctionsEndedText, HasRowsAndPaths) {
    add(0, 4, 2 * ms, 5 * ms);
    add(1, 3, 6 * ms, 4 * ms);
    ended_.totals[1].path = {2, 99, 0};
    EXPECT_EQ(text(),
              "  share   own time       calls       mean    longest  function\n"
              "   75 %    6.00 ms           3    2.00 ms    4.00 ms  work  work.c:7\n"
              "   25 %    2.00 ms           4     500 us    5.00 ms  main\n"
              "\nLongest calls, with their call paths\n"
              "     5.00 ms  main\n"
              "     4.00 ms  main > between > work\n"
              "\nEnded after 2.00 s: the time is over; probes removed in 30.0 ms.\n"
              "1 call of at least 5.00 us reported, 2.00 KiB per second.\n");
    EXPECT_THAT(text(2), Not(HasSubstr("others")));
    EXPECT_THAT(text(1), HasSubstr("work.c:7\n  and 1 other; --top shows more\n\nLongest"));
}

TEST_F(FunctionsEndedText, FunctionsWithoutAllBeginsHaveNoTimes) {
    add(0, 1, 2 * ms, 2 * ms);
    add(1, 1, ms, ms, 1000);
    const std::string shown = text();
    EXPECT_THAT(
        shown, HasSubstr("      -          -       1,001          -          -  work  work.c:7\n"));
    EXPECT_THAT(shown, HasSubstr("  \"-\": the runtime reported ends of these calls without all"));
    ended_.totals.pop_back();
    EXPECT_THAT(text(), Not(HasSubstr("\"-\"")));
}

TEST_F(FunctionsEndedText, SaysWhyThereAreNoCalls) {
    EXPECT_THAT(text(), StartsWith("No call of these functions ended; the process may have been "
                                   "waiting all the time.\n\nEnded"));
    calls::RuntimeEnd runtime;
    runtime.language = "Java";
    runtime.watched_ns = 2 * s;
    ended_.runtimes = {runtime};
    EXPECT_THAT(text(), StartsWith("No call of these functions ended;"));
    runtime.advice = "Start it with -XX:+ExtendedDTraceProbes.";
    runtime.left_out = {{"of the library", 3}};
    runtime.watched_ns = 0;
    ended_.runtimes.push_back(runtime);
    EXPECT_THAT(text(), StartsWith("No calls seen.\n"
                                   "  Start it with -XX:+ExtendedDTraceProbes.\n\nEnded"));
}

TEST_F(FunctionsEndedText, TellsWhatARuntimeLeftOutAndWhenItWasNotWatched) {
    calls::RuntimeEnd runtime;
    runtime.language = "Python";
    runtime.left_out = {{"of the library", 1000}, {"without a name", 1}};
    runtime.watched_ns = 1900 * ms;
    ended_.runtimes = {runtime};
    EXPECT_THAT(text(), HasSubstr("  Python: 1,001 functions not shown (1,000 of the library, "
                                  "1 without a name);\n  --include shows matching ones\n"));
    EXPECT_THAT(text(), Not(HasSubstr("probed for")));
    ended_.runtimes[0].watched_ns = 1900 * ms - 1;
    ended_.runtimes[0].left_out = {{"of the library", 1}};
    EXPECT_THAT(text(), HasSubstr("  Python: 1 function not shown (1 of the library);"));
    EXPECT_THAT(text(), HasSubstr("  Python: probed for 1.90 s of 2.00 s, in turns, to stay within "
                                  "--budget; counts\n"));
}

TEST_F(FunctionsEndedText, TellsWhatWasLost) {
    add(0, 1, ms, ms);
    ended_.sent = 2000;
    ended_.bytes = 3 << 20;
    ended_.not_sent = 3000;
    ended_.too_deep = 1;
    ended_.unnamed = 1;
    EXPECT_THAT(text(),
                HasSubstr("\n2,000 calls of at least 5.00 us reported, 1.50 MiB per second; 3,000 "
                          "more were only counted.\n1 call nested too deep: at most 256 open calls "
                          "per thread are tracked.\n"));
    EXPECT_THAT(text(), HasSubstr("\n  1 begin or end of functions without a name or beyond the "
                                  "first 4,096\n"));
    ended_.too_deep = 2;
    ended_.unnamed = 2;
    ended_.not_sent = 1;
    EXPECT_THAT(text(), HasSubstr("2 calls nested too deep"));
    EXPECT_THAT(text(), HasSubstr("2 begins and ends of functions"));
    EXPECT_THAT(text(), HasSubstr("; 1 more were only counted.\n"));
    ended_.length_ns = 0;  // divides by nothing
    EXPECT_THAT(text(), HasSubstr("Ended after 0 ns:"));
}

}  // namespace
}  // namespace lagtrap::cli::functions_text_test
