// `lagtrap calls` with a daemon that sends prepared trees.
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "calls/call_stream.hpp"
#include "cli/calls/calls_json.hpp"
#include "cli/calls/calls_text.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "core/clock.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "trace/perfetto/call_slices.hpp"

namespace lagtrap::cli::calls_command_test {
namespace {

namespace json = boost::json;
using test::ScriptedDaemon;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

calls::Function function(const std::string& name) {
    calls::Function made;
    made.name = name;
    made.module = "/bin/program";
    return made;
}

calls::Started started() {
    calls::Started made;
    made.pid = 42;
    made.process = "shop";
    made.functions = {function("buy"), function("read")};
    made.refused = {{"idle", "it never returns"}};
    made.refused_count = 1;
    return made;
}

// buy() takes `total_ns` with read() in it for half of that.
calls::Tree tree(std::uint64_t total_ns, std::uint64_t goroutine = 0, std::uint32_t callee = 1) {
    calls::Tree made;
    made.tid = 43;
    made.thread = "worker";
    made.goroutine = goroutine;
    made.began_realtime_ns = 1'700'000'000'000'000'000;
    made.began_monotonic_ns = 1'000;
    calls::Call outer, inner;
    outer.end_ns = outer.on_cpu_ns = total_ns;
    inner.function = callee;
    inner.parent = 0;
    inner.end_ns = total_ns / 2;
    inner.on_cpu_ns = total_ns / 8;
    inner.runnable_ns = total_ns / 4;
    made.calls = {outer, inner};
    return made;
}

calls::Ended ended() {
    calls::Ended made;
    made.reason = "the process ended";
    made.calls = 3;
    made.short_calls = 1;
    return made;
}

std::string line_of(const auto& message) { return json::serialize(calls::to_json(message)); }

class CallsCommand : public testing::Test {
  protected:
    // The daemon sends the lines; if `interrupts`, it interrupts the command instead of ending.
    test::Outcome run(const std::vector<std::string>& lines, std::vector<std::string> words = {},
                      bool interrupts = false) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        const pid_t command = ::getpid();
        const auto handler = [=](const std::string&) {
            return ScriptedDaemon::Answer{text, !interrupts, {}, interrupts ? command : 0};
        };
        words.insert(words.begin(),
                     {"calls", "--process", std::to_string(command), "--function", "buy"});
        auto outcome = test::run_with_daemon(words, handler, &asked_);
        interrupted = 0;
        (void)::signal(SIGINT, SIG_DFL);
        return outcome;
    }
    [[nodiscard]] json::object request() const { return json::parse(asked_.at(0)).as_object(); }

    test::TemporaryFolder folder_;
    std::vector<std::string> asked_;
    CallsLook look_{Paint(false), 80, false};
    std::vector<calls::Function> functions_ = started().functions;
    std::string begin_ = line_of(started()), end_ = line_of(ended());
};

TEST_F(CallsCommand, AsksForWhatTheOptionsSay) {
    (void)run({begin_, end_});
    EXPECT_EQ(request(), (json::object{{"command", "calls"},
                                       {"pid", ::getpid()},
                                       {"budget_permille", 100},
                                       {"length_ns", 30'000'000'000},
                                       {"function", "buy"},
                                       {"depth", 3},
                                       {"count", 10},
                                       {"match", ""},
                                       {"only", json::array{}}}));
    (void)run({begin_, end_}, {"--depth", "5", "--match", "re", "--only", "f,g", "--min", "5ms",
                               "--count", "0", "--for", "2s", "--budget", "2.5"});
    EXPECT_EQ(request(), (json::object{{"command", "calls"},
                                       {"pid", ::getpid()},
                                       {"budget_permille", 25},
                                       {"least_ns", 5'000'000},
                                       {"length_ns", 2'000'000'000},
                                       {"function", "buy"},
                                       {"depth", 5},
                                       {"count", 0},
                                       {"match", "re"},
                                       {"only", {"f", "g"}}}));
}

TEST_F(CallsCommand, RefusesDurationsThatAreNone) {
    for (const char* option : {"--min", "--for"}) {
        const auto outcome = run({}, {option, "5sx"});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(outcome.err, StartsWith(std::string("lagtrap: ") + option + ": "));
        EXPECT_TRUE(asked_.empty());
    }
}

TEST_F(CallsCommand, ShowsEachTreeAsItComes) {
    const auto outcome = run({begin_, line_of(tree(8'000)), line_of(tree(4'000)), end_});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              started_text(started(), "buy", look_) + tree_text(tree(8'000), functions_, look_) +
                  tree_text(tree(4'000), functions_, look_) + ended_text(ended(), "buy", 2));
    look_.all = true;
    EXPECT_THAT(run({begin_, end_}, {"--all"}).out,
                StartsWith(started_text(started(), "buy", look_)));
}

TEST_F(CallsCommand, ShowsFunctionsFoundAndDetached) {
    const std::vector<calls::Function> more{function("late")};
    const std::vector<calls::DetachedFunction> out{{2, 5'000}};
    const auto text =
        run({begin_, line_of(more), line_of(tree(8'000, 0, 2)), line_of(out), end_}).out;
    functions_.push_back(more[0]);
    EXPECT_EQ(text, started_text(started(), "buy", look_) + more_text(more, look_) +
                        tree_text(tree(8'000, 0, 2), functions_, look_) +
                        detached_text(out, functions_, look_) + ended_text(ended(), "buy", 1));
    const auto lines = run({begin_, line_of(more), line_of(out), end_}, {"--json"}).out;
    EXPECT_EQ(lines, begin_ + "\n" + line_of(more) +
                         "\n{\"detached\":[{\"function\":\"late\",\"calls_per_second\":5000}]}\n" +
                         end_ + "\n");
}

TEST_F(CallsCommand, JsonHasTimesAndNames) {
    const calls::Tree plain = tree(8'000), go = tree(8'000, 17);
    const auto tree_line = [this](const calls::Tree& one) {
        json::object shown{
            {"tid", 43},
            {"thread", "worker"},
            {"began", format_utc(one.began_realtime_ns)},
            {"calls", tree_calls_json(one, calls::net_times(one, functions_), functions_)}};
        if (one.goroutine != 0) shown["goroutine"] = one.goroutine;
        return json::serialize(json::object{{"tree", shown}}) + "\n";
    };
    EXPECT_EQ(run({begin_, line_of(plain), line_of(go), end_}, {"--json"}).out,
              begin_ + "\n" + tree_line(plain) + tree_line(go) + end_ + "\n");
}

TEST_F(CallsCommand, ASummaryReplacesTheTrees) {
    calls::Summary summary;
    for (const auto& one : {tree(8'000), tree(4'000)})
        summary.add(one, calls::net_times(one, functions_));
    EXPECT_EQ(run({begin_, line_of(tree(8'000)), line_of(tree(4'000)), end_}, {"--summary"}).out,
              started_text(started(), "buy", look_) + summary_text(summary, functions_, look_) +
                  ended_text(ended(), "buy", 2));
}

TEST_F(CallsCommand, TheSummaryAsJsonHasEachFigure) {
    const auto summary_of = [this](std::uint64_t goroutine) {
        const auto text =
            run({begin_, line_of(tree(8'000, goroutine)), line_of(tree(4'000, goroutine)), end_},
                {"--summary", "--json"})
                .out;
        return json::parse(test::line_with(text, "{\"summary\"")).at("summary").as_array();
    };
    const auto rows = summary_of(0);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("function"), "buy");
    EXPECT_TRUE(rows[0].at("parent").is_null());
    EXPECT_EQ(rows[1], json::parse(R"({"function":"read","parent":0,"calls":2,"min_ns":2000,)"
                                   R"("mean_ns":3000,"max_ns":4000,"wall_ns":6000,"own_ns":6000,)"
                                   R"("on_cpu_ns":1500,"runnable_ns":3000,"blocked_ns":1500})"));
    const auto of_goroutine = summary_of(17)[1].as_object();
    EXPECT_EQ(of_goroutine.at("wall_ns"), 6'000);
    for (const char* unknown : {"on_cpu_ns", "runnable_ns", "blocked_ns"})
        EXPECT_TRUE(of_goroutine.at(unknown).is_null()) << unknown;
}

TEST_F(CallsCommand, WritesTheTreesToAFileInstead) {
    const std::string file = folder_.string("calls.pftrace");
    const auto outcome =
        run({begin_, line_of(tree(8'000)), line_of(tree(4'000)), end_}, {"--output", file});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string content = test::text_of_file(file);
    EXPECT_EQ(outcome.out, started_text(started(), "buy", look_) + "2 calls written to " + file +
                               " (" + format_byte_size(content.size()) + "), a Perfetto trace.\n" +
                               ended_text(ended(), "buy", 2));
    for (const char* name : {"calls of buy", "read", "worker", "shop"})
        EXPECT_THAT(content, HasSubstr(name));
    const auto lines = run({begin_, line_of(tree(8'000)), end_}, {"--output", file, "--json"});
    EXPECT_EQ(lines.out, begin_ + "\n" + end_ + "\n");
    const auto failed = run({begin_, end_}, {"--output", folder_.string("none/x")});
    EXPECT_EQ(failed.code, 1);
    EXPECT_TRUE(asked_.empty()) << "nothing is traced for a file that cannot be written";
}

TEST_F(CallsCommand, AnInterruptShowsWhatThereIs) {
    const auto outcome = run({begin_, line_of(tree(8'000))}, {}, true);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, started_text(started(), "buy", look_) +
                               tree_text(tree(8'000), functions_, look_) +
                               "Interrupted; lagtrapd removes the probes.\n");
    const std::string file = folder_.string("calls.pftrace");
    EXPECT_THAT(run({begin_, line_of(tree(8'000))}, {"--output", file}, true).out,
                HasSubstr("\n1 call written to "));
    EXPECT_THAT(
        run({begin_, line_of(tree(8'000))}, {"--summary"}, true).out,
        testing::EndsWith("  read  blocked 25 %\n\nInterrupted; lagtrapd removes the probes.\n"));
    EXPECT_EQ(run({begin_}, {"--json"}, true).out, begin_ + "\n");
}

TEST_F(CallsCommand, AnAnswerThatEndsEarlyIsAFailure) {
    const auto outcome = run({begin_});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "lagtrap: lagtrapd has gone; its probes went with it\n");
    const auto refused = run({R"({"ok":false,"error":"there is no function buy"})"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.err, "lagtrap: there is no function buy\n");
    EXPECT_EQ(run({"no JSON"}).code, 1);
}

TEST_F(CallsCommand, NumbersOfFunctionsAreChecked) {
    EXPECT_EQ(run({begin_, line_of(tree(8'000, 0, 2)), end_}).code, 1);
    const auto outcome =
        run({begin_, line_of(std::vector<calls::DetachedFunction>{{1, 1}, {2, 5'000}}), end_});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "lagtrap: lagtrapd sent an unknown function number\n");
}

}  // namespace
}  // namespace lagtrap::cli::calls_command_test
