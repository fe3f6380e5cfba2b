// `lagtrap live` on a terminal, with a daemon that answers.
#include <cstdlib>
#include <iostream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "tests/unit/cli/terminal_session.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::cli::live_command_test {
namespace {

namespace fs = std::filesystem;
using test::ScriptedDaemon;
using test::TerminalSession;
using test::TraceBuilder;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr const char* session_id = "3f0c1c5e-0000-4000-8000-00000000000a";

class LiveCommand : public testing::Test {
  protected:
    std::unique_ptr<TerminalSession> start(const ScriptedDaemon::Handler& handler,
                                           std::chrono::seconds interval = std::chrono::seconds(60),
                                           unsigned short rows = 30) {
        daemon_ = std::make_unique<ScriptedDaemon>(folder_.string("socket"), handler);
        return std::make_unique<TerminalSession>(
            [this, interval] {
                ::setenv("TERM", "xterm", 1);
                Console console{std::cout, std::cerr, Paint(false)};
                return show_live({folder_.string("socket"), folder_.string("spool"), interval},
                                 console);
            },
            100, rows);
    }
    static std::string status(const std::string& last = "null",
                              const std::string& second = "rest") {
        const std::string event =
            R"({"armed":true,"threshold_ns":50000000,"delays":0,"runs":5,"name":")";
        return R"({"ok":true,"version":"0.1.0","state":"waiting","events":[)" + event + "work\"}," +
               event + second + R"("}],"last_bundle":)" + last + "}";
    }
    static ScriptedDaemon::Handler answers(const std::string& text, const std::string& other) {
        return [=](const std::string& line) {
            return ScriptedDaemon::Answer{
                (line.find("\"status\"") != std::string::npos ? text : other) + "\n"};
        };
    }
    // A bundle of one delay, which the spool has sent.
    std::string make_bundle() const {
        TraceBuilder builder(300 * ms, 1);
        builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(0, 0, 0, 0, 10);
        for (int i = 0; i < 8; ++i)
            builder.samples(static_cast<std::uint64_t>(30 * i) * ms,
                            static_cast<std::uint64_t>(30 * i + 30) * ms, 0, 10, 10,
                            {"main", "part_" + std::to_string(i)});
        auto delay = TraceBuilder::delay(1, "work", 10 * ms, 200 * ms, 50 * ms, 10, 10);
        delay.process = delay.thread = "app";
        builder.run(delay);
        builder.system.session_id = session_id;
        test::write_capture(builder, folder_.path() / "capture");
        fs::create_directories(folder_.path() / "spool/sent");
        const auto made = trace::write_bundle(folder_.path() / "capture", session_id,
                                              folder_.path() / "spool/sent");
        EXPECT_TRUE(made) << made.error().message;
        return made ? made->path.string() : std::string();
    }
    test::TemporaryFolder folder_;
    std::unique_ptr<ScriptedDaemon> daemon_;
};

TEST_F(LiveCommand, ShowsTheEventsUntilQ) {
    const auto session = start(answers(status(), "{\"ok\":true}"));
    ASSERT_TRUE(session->shows("> work")) << session->output();
    session->type("j");
    EXPECT_TRUE(session->shows("> rest"));
    session->type("k");
    EXPECT_TRUE(session->shows("> work"));
    session->type("q");
    EXPECT_EQ(session->end(), 0);
    EXPECT_EQ(daemon_->count("status"), 1U);
}

TEST_F(LiveCommand, AsksAgainAfterEachInterval) {
    const auto session =
        start(test::statuses({status(), status("null", "later")}), std::chrono::seconds(1));
    ASSERT_TRUE(session->shows("> work"));
    ASSERT_TRUE(session->shows("  later "));
    session->type("p");
    ASSERT_TRUE(session->shows("paused; p resumes"));
    session->type("p");
    session->type("q");
    EXPECT_EQ(session->end(), 0);
    EXPECT_GE(daemon_->count("status"), 2U);
}

TEST_F(LiveCommand, SendsWhatKeysMean) {
    const auto session = start(answers(status(), "{\"ok\":true}"));
    ASSERT_TRUE(session->shows("> work"));
    session->type("j");
    ASSERT_TRUE(session->shows("> rest"));
    session->type("t");
    EXPECT_TRUE(session->shows("recording for rest"));
    session->type("a");
    EXPECT_TRUE(session->shows("approved: the recording is kept"));
    session->type("d");
    EXPECT_TRUE(session->shows("declined: the recording is discarded"));
    session->type("q");
    EXPECT_EQ(session->end(), 0);
    EXPECT_THAT(
        daemon_->lines(),
        testing::ElementsAre(R"({"command":"status"})", R"({"command":"trigger","event":"rest"})",
                             R"({"command":"approve"})", R"({"command":"decline"})"));
}

TEST_F(LiveCommand, ShowsWhatTheDaemonRefuses) {
    const auto session = start(answers(status(), R"({"ok":false,"error":"nothing waits"})"));
    ASSERT_TRUE(session->shows("> work"));
    session->type("a");
    EXPECT_TRUE(session->shows("nothing waits"));
    session->type("r");
    EXPECT_TRUE(session->shows("no bundle in the spool " + folder_.string("spool")));
}

TEST_F(LiveCommand, ExplainsTheChosenEventOnAPage) {
    const auto session = start(answers(status(), "{\"ok\":true}"));
    ASSERT_TRUE(session->shows("> work"));
    session->type("j");
    ASSERT_TRUE(session->shows("> rest"));
    session->type("e");
    EXPECT_TRUE(session->shows("rest"));
    EXPECT_TRUE(session->shows("q back  up/down  page up/down  line 1 of "));
    session->type("q");
    EXPECT_TRUE(session->shows("> rest")) << "q leads back from a page";
    session->type("q");
    EXPECT_EQ(session->end(), 0);
}

TEST_F(LiveCommand, PagesThroughTheReport) {
    const std::string bundle = make_bundle();
    const auto session =
        start(answers(status(R"({"session":")" + std::string(session_id) + R"(","path":")" +
                             folder_.string("spool/ready/gone.lagtrap.tar.zst") + "\"}"),
                      "{\"ok\":true}"),
              std::chrono::seconds(60), 9);
    ASSERT_TRUE(session->shows("> work"));
    session->type("r");
    ASSERT_TRUE(session->shows("line 1 of ")) << "the bundle has moved within the spool";
    const std::string rest = session->output().substr(session->output().rfind("line 1 of ") + 10);
    const int lines = std::stoi(rest);
    ASSERT_GT(lines, 20);
    const auto expect_line = [&](const std::string& keys, int line) {
        session->type(keys);
        EXPECT_TRUE(session->shows("line " + std::to_string(line) + " of ")) << keys;
    };
    const int room = 8, last = lines - room + 1;
    expect_line("j", 2);
    expect_line("k", 1);
    expect_line("k", 1);
    expect_line("\x1b[6~", 1 + room);
    expect_line(" ", 1 + 2 * room);
    expect_line("\x1b[5~", 1 + room);
    expect_line("\x1b[F", last);
    expect_line("j", last);
    expect_line("\x1b[6~", last);
    expect_line("\x1b[5~", last - room);
    expect_line("\x1b[H", 1);
    expect_line("\x1b[5~", 1);
    expect_line("\x1b[F", last);
    session->resize(100, 21);
    EXPECT_TRUE(session->shows("line " + std::to_string(lines - 20 + 1) + " of "));
    session->type("\x1b");
    EXPECT_TRUE(session->shows("> work"));
    EXPECT_THAT(session->output(), HasSubstr("part_0"));
}

TEST_F(LiveCommand, ANewBundleIsReadOnce) {
    const std::string bundle = make_bundle();
    const std::string last =
        R"({"session":")" + std::string(session_id) + R"(","path":")" + bundle + "\"}";
    const auto session = start(test::statuses({status(), status(last)}), std::chrono::seconds(1));
    ASSERT_TRUE(session->shows("> work"));
    EXPECT_TRUE(session->shows("work took 200 ms: app (10)")) << session->output();
}

TEST_F(LiveCommand, ADaemonThatIsGoneIsShown) {
    const auto session = start(test::statuses({status(), R"({"ok":false,"error":"it stops"})"}),
                               std::chrono::seconds(1));
    ASSERT_TRUE(session->shows("> work"));
    EXPECT_TRUE(session->shows("it stops"));
}

TEST_F(LiveCommand, NeedsADaemonAndATerminal) {
    EXPECT_THAT(test::run_lagtrap({"live", "--socket", "/no/such/socket"}).err,
                HasSubstr("lagtrapd is not running"));
    EXPECT_EQ(test::run_lagtrap({"live", "--interval", "0"}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"live", "--interval", "61"}).code, 2);
}

}  // namespace
}  // namespace lagtrap::cli::live_command_test
