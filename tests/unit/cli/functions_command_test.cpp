// `lagtrap functions` with a daemon that sends prepared calls.
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "calls/function_stream.hpp"
#include "cli/calls/functions_text.hpp"
#include "cli/console/interrupt.hpp"
#include "core/duration.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::functions_command_test {
namespace {

namespace json = boost::json;
using test::ScriptedDaemon;
using testing::HasSubstr;
using testing::StartsWith;

calls::Function function(const std::string& name) {
    calls::Function made;
    made.name = name;
    made.module = "/bin/program";
    made.level = 1;
    return made;
}

calls::FunctionsStarted started() {
    calls::FunctionsStarted made;
    made.pid = 42;
    made.process = "shop";
    made.functions = {function("buy"), function("read")};
    made.own_files = {"/bin/program"};
    made.attached_by = "uprobe-multi";
    return made;
}

std::vector<calls::TracedCall> two_calls(std::uint32_t second = 1) {
    calls::TracedCall outer, inner;
    outer.tid = inner.tid = 43;
    outer.begin_ns = 1'000;
    outer.end_ns = 9'000;
    inner.function = second;
    inner.begin_ns = 2'000;
    inner.end_ns = 4'000;
    outer.thread = inner.thread = "worker";
    return {outer, inner};
}

calls::FunctionsEnded ended(std::uint32_t second = 1, std::uint64_t calls = 3,
                            std::uint64_t unbegun = 0) {
    calls::FunctionsEnded made;
    made.reason = "the time is over";
    made.length_ns = 10'000'000'000;
    made.sent = 2;
    calls::FunctionTotals one, two;
    one.calls = 5;
    one.own_ns = one.longest_ns = 6'000;
    two.function = second;
    two.calls = calls;
    two.unbegun = unbegun;
    two.own_ns = two.longest_ns = 2'000;
    two.path = {0};
    made.totals = {one, two};
    return made;
}

std::string line_of(const auto& message) { return json::serialize(calls::to_json(message)); }

class FunctionsCommand : public testing::Test {
  protected:
    test::Outcome run(const std::vector<std::string>& lines, std::vector<std::string> words = {}) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        words.insert(words.begin(), {"functions", "--process", std::to_string(::getpid())});
        return test::run_with_daemon(
            words,
            [=](const std::string&) {
                return ScriptedDaemon::Answer{text, true};
            },
            &asked_);
    }
    [[nodiscard]] json::object request() const { return json::parse(asked_.at(0)).as_object(); }

    test::TemporaryFolder folder_;
    std::vector<std::string> asked_;
    CallsLook look_{Paint(false), 80, false};
    std::vector<calls::Function> functions_ = started().functions;
    std::string begin_ = line_of(started()), end_ = line_of(ended());
};

TEST_F(FunctionsCommand, AsksForWhatTheOptionsSay) {
    (void)run({begin_, end_});
    EXPECT_EQ(request(), (json::object{{"command", "functions"},
                                       {"pid", ::getpid()},
                                       {"budget_permille", 100},
                                       {"least_ns", 20'000},
                                       {"length_ns", 10'000'000'000},
                                       {"include", ""},
                                       {"exclude", ""},
                                       {"bytes_per_second", parse_byte_size("200kB").value()}}));
    (void)run({begin_, end_}, {"--include", "in", "--exclude", "ex", "--min", "1ms", "--for", "2s",
                               "--budget", "3", "--rate", "1MiB"});
    EXPECT_EQ(request(), (json::object{{"command", "functions"},
                                       {"pid", ::getpid()},
                                       {"budget_permille", 30},
                                       {"least_ns", 1'000'000},
                                       {"length_ns", 2'000'000'000},
                                       {"include", "in"},
                                       {"exclude", "ex"},
                                       {"bytes_per_second", 1 << 20}}));
}

TEST_F(FunctionsCommand, RefusesValuesThatAreNone) {
    for (const char* option : {"--min", "--for", "--rate"}) {
        const auto outcome = run({}, {option, "5sx"});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(outcome.err, StartsWith(std::string("lagtrap: ") + option + ": "));
    }
}

TEST_F(FunctionsCommand, ShowsWhatIsWatchedAndTheTotals) {
    const std::vector<calls::DetachedFunction> out{{1, 5'000}};
    const auto outcome = run({begin_, line_of(two_calls()), line_of(out), end_});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, functions_started_text(started(), look_) +
                               detached_text(out, functions_, look_) +
                               functions_ended_text(ended(), functions_, 20, look_));
    EXPECT_EQ(run({begin_, end_}, {"--top", "1"}).out,
              functions_started_text(started(), look_) +
                  functions_ended_text(ended(), functions_, 1, look_));
    look_.all = true;
    EXPECT_EQ(run({begin_, end_}, {"--all"}).out,
              functions_started_text(started(), look_) +
                  functions_ended_text(ended(), functions_, 20, look_));
}

TEST_F(FunctionsCommand, FunctionsOfRuntimesComeLater) {
    const std::vector<calls::Function> more{function("late")};
    functions_.push_back(more[0]);
    EXPECT_EQ(run({begin_, line_of(more), line_of(ended(2))}).out,
              functions_started_text(started(), look_) +
                  functions_ended_text(ended(2), functions_, 20, look_));
}

TEST_F(FunctionsCommand, JsonIsTheLines) {
    const std::vector<std::string> lines{begin_, line_of(two_calls()),
                                         line_of(std::vector<calls::DetachedFunction>{{1, 5'000}}),
                                         end_};
    EXPECT_EQ(run(lines, {"--json"}).out,
              lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n" + lines[3] + "\n");
}

TEST_F(FunctionsCommand, WritesTheCallsToAFileToo) {
    const std::string file = folder_.string("functions.pftrace");
    const auto outcome = run({begin_, line_of(two_calls()), end_}, {"--output", file});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string content = test::text_of_file(file);
    EXPECT_EQ(outcome.out, functions_started_text(started(), look_) + "Calls written to " + file +
                               " (" + format_byte_size(content.size()) + "), a Perfetto trace.\n" +
                               functions_ended_text(ended(), functions_, 20, look_));
    for (const char* name : {"functions", "buy", "read", "worker", "shop"})
        EXPECT_THAT(content, HasSubstr(name));
    EXPECT_EQ(run({begin_, line_of(two_calls()), end_}, {"--output", file, "--json"}).out,
              begin_ + "\n" + line_of(two_calls()) + "\n" + end_ + "\n");
    EXPECT_EQ(run({begin_, end_}, {"--output", folder_.string("none/x")}).code, 1);
    EXPECT_TRUE(asked_.empty());
}

TEST_F(FunctionsCommand, NumbersOfFunctionsAreChecked) {
    const std::vector<std::string> wrong{line_of(two_calls(2)),
                                         line_of(std::vector<calls::DetachedFunction>{{2, 1}}),
                                         line_of(ended(2)), line_of(ended(1, 0))};
    for (const std::string& line : wrong) {
        const auto outcome = run({begin_, line, end_});
        EXPECT_EQ(outcome.code, 1) << line;
        EXPECT_EQ(outcome.err, "lagtrap: lagtrapd sent an unknown function number\n") << line;
        EXPECT_EQ(run({line}).code, 1) << "before the begin";
    }
    EXPECT_EQ(run({begin_, line_of(ended(1, 0, 4))}).code, 0) << "only ends were reported";
}

TEST_F(FunctionsCommand, AnAnswerThatEndsEarlyIsAFailure) {
    const auto outcome = run({begin_, line_of(two_calls())});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "lagtrap: lagtrapd has gone; its probes went with it\n");
    EXPECT_EQ(run({R"({"ok":false,"error":"no"})"}).err, "lagtrap: no\n");
}

TEST_F(FunctionsCommand, AnInterruptAsksForTheResultsSoFar) {
    const pid_t command = ::getpid();
    const std::string begin = begin_ + "\n", end = end_ + "\n";
    const auto handler = [=](const std::string& line) {
        if (line.empty()) return ScriptedDaemon::Answer{end, true};
        return ScriptedDaemon::Answer{begin, false, {}, command};
    };
    const auto outcome = test::run_with_daemon(
        {"functions", "--process", std::to_string(command), "--json"}, handler, &asked_);
    interrupted = 0;
    (void)::signal(SIGINT, SIG_DFL);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, begin + end);
    EXPECT_EQ(asked_.size(), 2U);
}

}  // namespace
}  // namespace lagtrap::cli::functions_command_test
