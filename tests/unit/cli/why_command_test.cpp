// `lagtrap why` with a daemon that records a prepared recording.
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::cli::why_command_test {
namespace {

namespace json = boost::json;
using test::ScriptedDaemon;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class WhyCommand : public testing::Test {
  protected:
    ~WhyCommand() override {
        interrupted = 0;
        for (const int signal : {SIGINT, SIGTERM, SIGQUIT}) (void)::signal(signal, SIG_DFL);
    }
    // A recording in which this process ran.
    std::string make_bundle() {
        TraceBuilder builder(100'000'000, 1);
        const auto pid = static_cast<std::uint32_t>(::getpid());
        builder.process(pid, "/usr/bin/shop").thread(pid, pid, "shop").switched(0, 0, 0, 0, pid);
        builder.samples(0, 99'000'000, 0, pid, pid, {"main", "count_stock"});
        builder.system.session_id = "3f0c1c5e-0000-4000-8000-00000000000a";
        test::write_capture(builder, folder_.path() / "capture");
        const auto bundle = trace::write_bundle(folder_.path() / "capture",
                                                builder.system.session_id, folder_.path());
        EXPECT_TRUE(bundle) << bundle.error().message;
        return bundle ? bundle->path.string() : std::string();
    }
    test::Outcome run(std::vector<std::string> words) {
        const std::string bundle = make_bundle();
        const auto handler = [bundle](const std::string& line) -> ScriptedDaemon::Answer {
            if (line.find("\"status\"") != std::string::npos)
                return {R"({"ok":true,"capture":null,"events":[{"name":"x"}]})"
                        "\n"};
            return {R"({"ok":true,"session":"s"})"
                    "\n"
                    R"({"ok":true,"bundle":")" +
                    bundle + "\"}\n"};
        };
        words.insert(words.begin(), "why");
        return test::run_with_daemon(words, handler, &lines_);
    }
    // Only root may record; other users get an error at once.
    static bool may_record() { return ::geteuid() == 0; }
    void expect_refused(const test::Outcome& outcome, int code) const {
        EXPECT_EQ(outcome.code, code);
        EXPECT_EQ(outcome.err, "lagtrap: recording the machine needs root; try sudo\n");
        EXPECT_TRUE(lines_.empty());
    }
    test::TemporaryFolder folder_;
    std::vector<std::string> lines_;
    const std::string own_ = std::to_string(::getpid());
};

TEST_F(WhyCommand, ShowsTheProcess) {
    const auto outcome = run({own_, "--for", "20ms"});
    if (!may_record()) return expect_refused(outcome, 1);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("shop"), HasSubstr("count_stock")));
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("Recording for 20.0 ms ...\n"),
                                   HasSubstr("Reading the recording ...\n")));
    EXPECT_EQ(lines_.at(0), R"({"command":"status"})");
    EXPECT_EQ(lines_.at(1), R"({"command":"record","length_ns":20000000})");
}

TEST_F(WhyCommand, JsonIsAlone) {
    const auto outcome = run({own_, "--json"});
    if (!may_record()) return expect_refused(outcome, 1);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(json::parse(outcome.out).is_object());
    EXPECT_EQ(lines_.at(1), R"({"command":"record","length_ns":5000000000})");
}

TEST_F(WhyCommand, WritesTheReportToAFile) {
    const auto outcome = run({own_, "-o", folder_.string("report")});
    if (!may_record()) return expect_refused(outcome, 1);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(test::text_of_file(folder_.string("report")), HasSubstr("count_stock"));
}

TEST_F(WhyCommand, RefusesBadOptionsBeforeItRecords) {
    const auto length = run({own_, "--for", "9ms"});
    EXPECT_EQ(length.code, 1);
    EXPECT_EQ(length.err, "lagtrap: --for: expected 10ms to 10min\n");
    const auto target = run({"no-such-process"});
    EXPECT_EQ(target.code, 1);
    EXPECT_THAT(target.err, StartsWith("lagtrap: no process is named no-such-process"));
    const auto output = run({own_, "-o", folder_.string("none/report")});
    EXPECT_EQ(output.code, 1);
    EXPECT_THAT(output.err, StartsWith("lagtrap: --output: "));
    EXPECT_TRUE(lines_.empty());
}

TEST_F(WhyCommand, OfACommandHasItsExitCodeAndItsReportOnStandardError) {
    const auto outcome = run({"--limit", "30s", "--", "/bin/sh", "-c", "exit 7"});
    if (!may_record()) return expect_refused(outcome, 125);
    EXPECT_EQ(outcome.code, 7) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("\n"));
    EXPECT_THAT(outcome.err, HasSubstr("/bin/sh -c exit 7"));
    EXPECT_EQ(lines_.at(1), R"({"command":"record","length_ns":30000000000})");
    EXPECT_EQ(lines_.at(2), "") << "the recording ends with the command";
}

TEST_F(WhyCommand, OfACommandAsJsonOrInAFile) {
    const auto shown = run({"--json", "--", "/bin/sh", "-c", "exit 0"});
    if (!may_record()) return expect_refused(shown, 125);
    EXPECT_EQ(shown.code, 0);
    EXPECT_EQ(json::parse(shown.err).at("exit_status"), 0);
    EXPECT_EQ(run({"-o", folder_.string("report"), "--", "/bin/sh", "-c", "exit 3"}).code, 3);
    const std::string report = test::text_of_file(folder_.string("report"));
    EXPECT_THAT(report, AllOf(HasSubstr("/bin/sh -c exit 3"), Not(StartsWith("\n"))));
}

TEST_F(WhyCommand, ACommandThatDoesNotRunHasACodeOfItsOwn) {
    const std::string script = folder_.string("script");
    test::write_text(script, "#!/bin/sh\n");
    const auto none = run({"--", folder_.string("none")});
    if (!may_record()) return expect_refused(none, 125);
    EXPECT_EQ(none.code, 127);
    EXPECT_EQ(run({"--", script}).code, 126);
}

TEST_F(WhyCommand, BadOptionsOfACommandAre125) {
    const auto limit = run({"--limit", "11min", "--", "/bin/true"});
    EXPECT_EQ(limit.code, 125);
    EXPECT_EQ(limit.err, "lagtrap: --limit: expected 10ms to 10min\n");
    EXPECT_EQ(run({"-o", folder_.string("none/report"), "--", "/bin/true"}).code, 125);
}

TEST_F(WhyCommand, ShowsStacksWithAll) {
    const auto brief = run({own_});
    if (!may_record()) return expect_refused(brief, 1);
    EXPECT_THAT(brief.out, Not(HasSubstr("  stack: ")));
    EXPECT_THAT(run({own_, "--all"}).out, HasSubstr("  stack: main > count_stock\n"));
}

TEST_F(WhyCommand, SaysThatTheCommandOutlastedItsRecording) {
    const auto long_one = run({"--json", "--limit", "10ms", "--", "/bin/sleep", "0.5"});
    if (!may_record()) return expect_refused(long_one, 125);
    EXPECT_EQ(json::parse(long_one.err).at("beyond_limit"), true);
    const auto brief = json::parse(run({"--json", "--", "/bin/echo", "a", "b"}).err);
    EXPECT_EQ(brief.at("beyond_limit"), false);
    EXPECT_EQ(brief.at("command"), "/bin/echo a b");
}

TEST_F(WhyCommand, OnlyTheTerminalHasColours) {
    if (!may_record()) return;
    const auto colours = [this](WhyOptions options) {
        const test::TemporaryFolder folder;
        const std::string bundle = make_bundle();
        const ScriptedDaemon daemon(
            folder.string("socket"), [bundle](const std::string& line) -> ScriptedDaemon::Answer {
                if (line.find("\"status\"") != std::string::npos)
                    return {"{\"ok\":true,\"capture\":null,\"events\":[{\"name\":\"x\"}]}\n"};
                return {"{\"ok\":true,\"session\":\"s\"}\n{\"ok\":true,\"bundle\":\"" + bundle +
                        "\"}\n"};
            });
        options.socket = folder.string("socket");
        std::ostringstream out, err;
        Console console{out, err, Paint(true)};
        EXPECT_EQ(say_why(options, console), 0) << err.str();
        const std::string text =
            options.output.empty() ? out.str() + err.str() : test::text_of_file(options.output);
        EXPECT_THAT(text, Not(testing::IsEmpty()));
        return text.find('\x1b') != std::string::npos;
    };
    WhyOptions process;
    process.target = own_;
    EXPECT_TRUE(colours(process));
    process.output = folder_.string("report");
    EXPECT_FALSE(colours(process));
    WhyOptions command;
    command.command = {"/bin/true"};
    EXPECT_TRUE(colours(command));
    command.output = folder_.string("report");
    EXPECT_FALSE(colours(command));
}

TEST_F(WhyCommand, NeedsAProcessOrACommand) {
    EXPECT_EQ(test::run_lagtrap({"why"}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"why", own_, "--", "/bin/true"}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"why", "--watch", "--", "/bin/true"}).code, 2);
}

}  // namespace
}  // namespace lagtrap::cli::why_command_test
