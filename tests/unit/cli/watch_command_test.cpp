// `lagtrap watch` with a daemon that watches the event and makes recordings of it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "tests/unit/cli/terminal_session.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::cli::watch_command_test {
namespace {

namespace json = boost::json;
using test::ScriptedDaemon;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t ms = TraceBuilder::ms;

std::string status_of(const std::string& last_bundle, const std::string& event = {}) {
    return R"({"ok":true,"arming":null,"processes_found":true,"capture":null,)"
           R"("captures":{"waiting":0},"last_bundle":{"path":")" +
           last_bundle + R"("},"events":[)" +
           (event.empty() ? R"({"armed":true,"runs":40,"delays":2,"max_ns":9000000})" : event) +
           "]}";
}

class WatchCommand : public testing::Test {
  protected:
    WatchCommand() {
        TraceBuilder builder(300 * ms, 1);
        builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(0, 0, 0, 0, 10);
        builder.samples(0, 290 * ms, 0, 10, 10, {"main", "count_stock"});
        auto delay = TraceBuilder::delay(1, "machine-fsync", 10 * ms, 200 * ms, 50 * ms, 10, 10);
        delay.process = delay.thread = "app";
        builder.run(delay);
        builder.system.session_id = "3f0c1c5e-0000-4000-8000-00000000000a";
        test::write_capture(builder, folder_.path() / "capture");
        const auto made = trace::write_bundle(folder_.path() / "capture", builder.system.session_id,
                                              folder_.path());
        EXPECT_TRUE(made) << made.error().message;
        if (made) bundle_ = made->path.string();
    }
    ~WatchCommand() override {
        interrupted = 0;
        for (const int signal : {SIGINT, SIGTERM}) (void)::signal(signal, SIG_DFL);
        if (child_ < 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    // The status after each of the command's questions; after the last one, it interrupts.
    test::Outcome watch(std::vector<std::string> words, std::vector<std::string> all_statuses) {
        const pid_t command = ::getpid();
        const auto handler = [=, this, asked = std::size_t{0}](
                                 const std::string& line) mutable -> ScriptedDaemon::Answer {
            if (line.find("\"bundle\"") != std::string::npos)
                return {"{\"ok\":true}\n", false, bundle_};
            if (line.find("\"status\"") == std::string::npos) return {"{\"ok\":true}\n"};
            if (asked + 1 == all_statuses.size()) ::kill(command, SIGINT);
            return {all_statuses[std::min(asked++, all_statuses.size() - 1)] + "\n"};
        };
        words.insert(words.begin(), "watch");
        return test::run_with_daemon(words, handler, &lines_);
    }
    static std::size_t count(const std::string& text, const std::string& part) {
        std::size_t found = 0;
        for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
            ++found;
        return found;
    }
    // A process that only waits; its id.
    std::string start_process() {
        child_ = ::fork();
        if (child_ == 0) {
            ::execl("/bin/sleep", "sleep", "1000", nullptr);
            ::_exit(1);
        }
        const std::string name = "/proc/" + std::to_string(child_) + "/comm";
        while (test::text_of_file(name) != "sleep\n") ::usleep(1000);
        return std::to_string(child_);
    }
    test::TemporaryFolder folder_;
    pid_t child_ = -1;
    std::string bundle_;
    std::vector<std::string> lines_;
    const std::vector<std::string> fsync_{"--syscall", "fsync", "--over", "5ms"};
};

TEST_F(WatchCommand, ExplainsTheFirstDelayAndEnds) {
    const auto outcome = watch(fsync_, {status_of(""), status_of(""), status_of(""),
                                        status_of("/spool/b"), status_of("/spool/b")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(lines_.at(0)),
              (json::object{{"command", "watch"},
                            {"event",
                             "  <event name=\"machine-fsync\" threshold=\"5ms\">\n"
                             "    <begin tracepoint=\"syscalls:sys_enter_fsync\"/>\n"
                             "    <end tracepoint=\"syscalls:sys_exit_fsync\"/>\n  </event>\n"}}));
    EXPECT_THAT(outcome.out, HasSubstr("count_stock"));
    EXPECT_THAT(outcome.err, StartsWith("Watching; Ctrl-C ends it.\n"));
    EXPECT_THAT(outcome.err, HasSubstr("1 shown."));
    EXPECT_THAT(outcome.out, Not(HasSubstr("For the settings")));
}

TEST_F(WatchCommand, ARunningDaemonWatchesPresets) {
    const auto outcome = watch({"--preset", "nginx"}, {status_of(""), status_of("/spool/b"), "{}"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(lines_.at(0)),
              (json::object{{"command", "watch"}, {"event", "  <use preset=\"nginx\"/>\n"}}));
}

TEST_F(WatchCommand, ShowsAsManyAsWantedEachOnce) {
    auto words = fsync_;
    words.insert(words.end(), {"--count", "2"});
    const auto outcome = watch(words, {status_of(""), status_of(""), status_of("/spool/b"),
                                       status_of("/spool/b"), status_of("/spool/c"), "{}"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(count(outcome.out, "machine-fsync took"), 2U) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("2 runs were too slow.\n"));
    EXPECT_EQ(count(outcome.out, "\n\n\n"), 0U);
}

TEST_F(WatchCommand, SeveralDelaysAreListedWithTheirCauses) {
    auto words = fsync_;
    words.insert(words.end(), {"--count", "2", "--keep", folder_.string("kept")});
    const auto outcome = watch(
        words, {status_of(""), status_of(""), status_of("/spool/b"), status_of("/spool/c"), "{}"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\nCauses"));
    EXPECT_THAT(outcome.out, HasSubstr("\nDelays  newest first\n"));
    for (const char* const name : {"kept/b", "kept/c"})
        EXPECT_EQ(test::text_of_file(folder_.string(name)), test::text_of_file(bundle_));
}

TEST_F(WatchCommand, WithoutAThresholdItLooksFirst) {
    const auto outcome =
        watch({"--syscall", "fsync"}, {status_of(""), status_of(""), status_of("")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(lines_.at(0), HasSubstr("threshold=\\\"1h\\\""));
    EXPECT_THAT(outcome.err, StartsWith("Looking at runs for 10.0 s to choose a threshold ...\n"));
    EXPECT_THAT(outcome.err, HasSubstr("2 runs were too slow, 0 shown."));
}

TEST_F(WatchCommand, ACommandBeginsWatchedAndEndsTheWatch) {
    const std::vector<std::string> quiet(100, status_of(""));
    auto words = fsync_;
    words.insert(words.end(), {"--", "/bin/sh", "-c", "exit 3"});
    const auto outcome = watch(words, quiet);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(lines_.at(0),
                testing::ContainsRegex("<scope pid=..[0-9]+.. descendants=..yes../>"));
    EXPECT_THAT(outcome.err, StartsWith("Watching; Ctrl-C ends it.\nWatched for "));
}

TEST_F(WatchCommand, TheEventIsWrittenIntoTheSettings) {
    const std::string settings = folder_.string("settings.xml");
    test::write_text(settings, "<lagtrap version=\"1\">\n</lagtrap>\n");
    auto words = fsync_;
    words.insert(words.end(), {"--write", "--settings", settings});
    const auto outcome = watch(words, {status_of(""), status_of(""), status_of("/spool/b"), "{}"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\nWritten to " + settings.substr(0, 20)));
    EXPECT_THAT(test::text_of_file(settings), HasSubstr("<event name=\"machine-fsync\""));
}

TEST_F(WatchCommand, FullReportsAreLonger) {
    const std::vector<std::string> all{status_of(""), status_of(""), status_of("/spool/b"), "{}"};
    const auto beginning = watch(fsync_, all);
    auto words = fsync_;
    words.emplace_back("--full");
    const auto full = watch(words, all);
    EXPECT_EQ(full.code, 0) << full.err;
    EXPECT_GT(full.out.size(), beginning.out.size());
}

TEST_F(WatchCommand, AnInterruptEndsItWithTheSummary) {
    const auto outcome = watch(fsync_, {status_of(""), status_of(""), status_of("")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("2 runs were too slow, 0 shown."));
}

TEST_F(WatchCommand, SavesTheEventWithoutTheProcess) {
    const std::string process = start_process();
    auto words = fsync_;
    words.insert(words.end(), {"--save", "--in", process});
    const auto outcome = watch(words, {status_of(""), status_of(""), status_of("/spool/b"), "{}"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(lines_.at(0), HasSubstr("<scope pid=\\\"" + process + "\\\"/>"));
    const auto saved = outcome.out.find("\nFor the settings\n  <event ");
    ASSERT_NE(saved, std::string::npos) << outcome.out;
    EXPECT_THAT(outcome.out.substr(saved),
                AllOf(HasSubstr("sys_enter_fsync"), Not(HasSubstr("pid="))));
}

TEST_F(WatchCommand, ATerminalShowsWhatHappensMeanwhile) {
    const auto with = [](std::string status, const std::string& old, const std::string& text) {
        return status.replace(status.find(old), old.size(), text);
    };
    const std::string quiet = status_of("");
    const test::TemporaryFolder folder;
    const ScriptedDaemon daemon(
        folder.string("socket"),
        test::statuses({quiet, quiet, quiet,
                        with(quiet, "\"capture\":null", R"("capture":{"a":1})"),
                        with(quiet, "\"waiting\":0", "\"waiting\":1"), quiet}));
    test::TerminalSession session(
        [&] {
            Console console{std::cout, std::cerr, Paint(false), 60, true};
            WatchOptions options;
            options.syscall = "fsync";
            options.over = "5ms";
            options.socket = folder.string("socket");
            return watch_event(options, console);
        },
        60);
    ASSERT_TRUE(session.shows("Watching; Ctrl-C ends it.")) << session.output();
    EXPECT_TRUE(session.shows("\r\033[K40 runs, "));
    EXPECT_TRUE(session.shows("\r\033[Krecording; 40 runs, "));
    EXPECT_TRUE(session.shows("\r\033[Kreading the recording; 40 runs, "));
    EXPECT_TRUE(session.shows("\r\033[K40 runs, "));
    session.type("\x03");
    EXPECT_TRUE(session.shows("\r\033[KWatched for "));
    EXPECT_EQ(session.end(), 0);
}

TEST_F(WatchCommand, AnEventThatFailsLaterEndsIt) {
    const auto outcome =
        watch(fsync_, {status_of(""), status_of(""), R"({"ok":false,"error":"it stops"})", "{}"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, testing::EndsWith("lagtrap: it stops\n"));
}

TEST_F(WatchCommand, SaysWhyTheEventCannotBeWatched) {
    const std::string event = R"({"armed":false,"problem":"no such system call"})";
    const auto outcome = watch(fsync_, {status_of("", event), status_of("", event), "{}"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "lagtrap: no such system call\n");
}

TEST_F(WatchCommand, NeedsExactlyOneThingToWatch) {
    const std::string say =
        "lagtrap: say what to watch: one of --function, --usdt, --syscall, --tracepoint and "
        "--preset\n";
    const std::vector<std::vector<std::string>> both{{},
                                                     {"--function", "f", "--usdt", "a:b"},
                                                     {"--syscall", "fsync", "--preset", "nginx"},
                                                     {"--function", "f", "--preset", "nginx"},
                                                     {"--usdt", "a:b", "--syscall", "fsync"}};
    for (const auto& words : both) {
        const auto outcome = watch(words, {"{}"});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_EQ(outcome.err, say);
        EXPECT_TRUE(lines_.empty());
    }
}

TEST_F(WatchCommand, SaysWhatIsWrongBeforeItWatches) {
    EXPECT_THAT(watch({"--syscall", "fsync", "--over", "5x"}, {"{}"}).err,
                StartsWith("lagtrap: --over 5x: "));
    EXPECT_THAT(watch({"--syscall", "fsync", "--", "/bin/true"}, {"{}"}).err,
                HasSubstr("--over is missing: a command begins only when it is watched"));
    EXPECT_THAT(watch({"--tracepoint", "a:b", "--over", "1s"}, {"{}"}).err,
                HasSubstr("--until is missing"));
    EXPECT_THAT(watch({"--preset", "nginx", "--stage", "f"}, {"{}"}).err,
                HasSubstr("--stage is not for presets"));
    EXPECT_THAT(watch({"--syscall", "fsync", "--over", "1s", "--stage", "f"}, {"{}"}).err,
                HasSubstr("--in is missing: the program with the function of --stage"));
    EXPECT_THAT(watch({"--preset", "no-such-preset"}, {"{}"}).err, HasSubstr("no-such-preset"));
    EXPECT_EQ(
        watch({"--syscall", "fsync", "--over", "5ms", "--in", "no-such-program"}, {"{}"}).code, 1);
    EXPECT_THAT(
        watch({"--function", "no_such_function_here", "--over", "5ms", "--in", start_process()},
              {"{}"})
            .err,
        HasSubstr("no function no_such_function_here"));
    EXPECT_TRUE(lines_.empty());
}

}  // namespace
}  // namespace lagtrap::cli::watch_command_test
