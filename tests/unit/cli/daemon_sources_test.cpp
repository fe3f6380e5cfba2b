// Recordings and watched events of a daemon that runs, or of a temporary one.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/daemons/daemon_program.hpp"
#include "cli/daemons/recording_source.hpp"
#include "cli/daemons/temporary_daemon.hpp"
#include "cli/daemons/watch_source.hpp"
#include "core/files.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::daemon_sources_test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;
using test::ScriptedDaemon;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* free_status = R"({"ok":true,"capture":null,"events":[{"name":"x"}]})";
constexpr const char* recording_status =
    R"({"ok":true,"capture":{"session":"s"},"events":[{"name":"x"}]})";
constexpr const char* armed = R"({"ok":true,"arming":null,"processes_found":true,"n":1})";

TEST(DaemonProgram, RehearsesTheFileAgainstTheSettings) {
    EXPECT_THAT(
        rehearsal_by("/sbin/lagtrapd", "new.xml", "/etc/old.xml", false),
        ElementsAre("/sbin/lagtrapd", "--rehearse", "new.xml", "--settings", "/etc/old.xml"));
    EXPECT_THAT(
        rehearsal_by("lagtrapd", "new.xml", "old.xml", true),
        ElementsAre("lagtrapd", "--rehearse", "new.xml", "--settings", "old.xml", "--json"));
    EXPECT_THAT(find_daemon(), testing::EndsWith("lagtrapd"));
}

TEST(IsArmed, IfNothingIsArmedAnyMoreAndProcessesWereFound) {
    const auto is = [](const char* status) { return is_armed(json::parse(status).as_object()); };
    EXPECT_TRUE(is(R"({"arming":null,"processes_found":true})"));
    for (const char* status :
         {R"({"arming":{"done":1},"processes_found":true})",
          R"({"arming":null,"processes_found":false})", R"({"arming":null})",
          R"({"processes_found":true})", R"({"arming":null,"processes_found":1})"})
        EXPECT_FALSE(is(status)) << status;
}

class Recordings : public testing::Test {
  protected:
    std::unique_ptr<RecordingSource> source() const {
        return RecordingSource::with_running_daemon(socket_, stop_);
    }
    static ScriptedDaemon::Handler recorder(std::vector<std::string> all_statuses,
                                            const std::string& lines) {
        return [status = test::statuses(std::move(all_statuses)),
                lines](const std::string& line) mutable -> ScriptedDaemon::Answer {
            if (line.find("\"record\"") != std::string::npos) return {lines};
            if (line.empty()) return {};
            return status(line);
        };
    }
    test::TemporaryFolder folder_;
    const std::string socket_ = folder_.string("socket");
    volatile std::sig_atomic_t stop_ = 0;
};

TEST_F(Recordings, UseADaemonThatIsFree) {
    EXPECT_EQ(source(), nullptr) << "none runs";
    for (const auto& [status, is_free] : std::vector<std::pair<std::string, bool>>{
             {free_status, true},
             {recording_status, false},
             {R"({"ok":true,"capture":null,"events":[]})", false},
             {R"({"ok":false,"error":"no"})", false}}) {
        {
            const ScriptedDaemon daemon(socket_, test::statuses({status}));
            const auto found = source();
            EXPECT_EQ(found != nullptr, is_free) << status;
            if (found) EXPECT_FALSE(found->is_temporary());
        }
        fs::remove(socket_);
    }
}

TEST_F(Recordings, NeedRoot) {
    if (::geteuid() == 0) {
        const ScriptedDaemon daemon(socket_, test::statuses({free_status}));
        const auto found = RecordingSource::find(socket_, stop_);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_FALSE((*found)->is_temporary());
    } else {
        const auto found = RecordingSource::find(socket_, stop_);
        EXPECT_EQ(found.error().kind, ErrorKind::Denied);
        EXPECT_EQ(found.error().message, "recording the machine needs root; try sudo");
    }
}

TEST_F(Recordings, EndByThemselvesOrEarlyAndHaveABundle) {
    const ScriptedDaemon daemon(
        socket_,
        recorder({free_status, recording_status, recording_status, free_status},
                 "{\"ok\":true,\"session\":\"s\"}\n{\"ok\":true,\"bundle\":\"/spool/b\"}\n"));
    const auto recording = source();
    ASSERT_TRUE(recording);
    ASSERT_TRUE(recording->begin(1500ms));
    int polled = 0;
    ASSERT_TRUE(recording->await_end([&] { return ++polled >= 1; }));
    EXPECT_EQ(polled, 1) << "it asks nothing after the request to end";
    EXPECT_EQ(recording->bundle().value(), "/spool/b");
    EXPECT_EQ(daemon.lines().at(1), R"({"command":"record","length_ns":1500000000})");
    EXPECT_EQ(daemon.count("status"), 4U);
    const auto lines = daemon.lines();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), ""), 1) << "the end of the recording";
}

TEST_F(Recordings, OfAnotherClientDoNotMatter) {
    const ScriptedDaemon daemon(
        socket_,
        recorder({free_status, R"({"ok":true,"capture":{"session":"other"},"events":[{}]})",
                  free_status},
                 "{\"ok\":true,\"session\":\"s\"}\n"));
    const auto recording = source();
    ASSERT_TRUE(recording->begin(1s));
    ASSERT_TRUE(recording->await_end([] { return false; }));
    EXPECT_EQ(daemon.count("status"), 3U) << "its own may still be read while another begins";
}

TEST_F(Recordings, SayWhatFailed) {
    const auto bundle_error = [this](const std::string& line) {
        Error error;
        {
            const ScriptedDaemon daemon(
                socket_, [&](const std::string& request) -> ScriptedDaemon::Answer {
                    if (request.find("\"record\"") == std::string::npos)
                        return {std::string(free_status) + "\n"};
                    return {"{\"ok\":true,\"session\":\"s\"}\n" + line, true};
                });
            const auto recording = source();
            EXPECT_TRUE(recording->begin(1s));
            error = recording->bundle().error();
        }
        fs::remove(socket_);
        return error;
    };
    EXPECT_EQ(bundle_error("{\"ok\":false,\"error\":\"the disk is full\"}\n").message,
              "the recording failed: the disk is full");
    EXPECT_EQ(bundle_error("[]\n").message, "lagtrapd's answer is not a JSON object");
    EXPECT_EQ(bundle_error("").message, "lagtrapd has exited");
    EXPECT_EQ(bundle_error("").kind, ErrorKind::Vanished);
}

class Watching : public Recordings {
  protected:
    static ScriptedDaemon::Handler watcher(std::vector<std::string> all_statuses,
                                           const std::string& watched = "{\"ok\":true}",
                                           const std::string& file = {}) {
        return [status = test::statuses(std::move(all_statuses)), watched,
                file](const std::string& line) mutable -> ScriptedDaemon::Answer {
            if (line.find("\"watch\"") != std::string::npos) return {watched + "\n"};
            if (line.find("\"bundle\"") != std::string::npos)
                return {"{\"ok\":true}\n", false, file};
            return status(line);
        };
    }
    // The same, of a session "s" that a trigger begins.
    static ScriptedDaemon::Handler recorder_of(std::vector<std::string> statuses,
                                               const std::string& bundle) {
        return [watched = watcher(std::move(statuses), R"({"ok":true})", bundle)](
                   const std::string& line) mutable -> ScriptedDaemon::Answer {
            if (line.find("\"trigger\"") != std::string::npos)
                return {"{\"ok\":true,\"session\":\"s\"}\n"};
            return watched(line);
        };
    }
};

TEST_F(Watching, WaitsUntilTheEventIsArmed) {
    const ScriptedDaemon daemon(
        socket_, watcher({R"({"ok":true,"arming":{"done":0},"processes_found":true})",
                          R"({"ok":true,"arming":null,"processes_found":false})", armed,
                          R"({"ok":true,"n":2})"}));
    auto source = WatchSource::start("<event/>", socket_, stop_);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->why_temporary(), "");
    EXPECT_EQ(daemon.lines().at(0), R"({"command":"watch","event":"<event/>"})");
    EXPECT_EQ(daemon.count("status"), 3U);
    EXPECT_EQ((*source)->status().value().at("n"), 2);
}

TEST_F(Watching, ReadsTheBundleThatTheDaemonSends) {
    test::write_text(folder_.string("bundle"), std::string(3 << 20, 'x') + "end");
    const ScriptedDaemon daemon(socket_,
                                watcher({armed}, "{\"ok\":true}", folder_.string("bundle")));
    auto source = WatchSource::start("<event/>", socket_, stop_);
    ASSERT_TRUE(source) << source.error().message;
    const auto path = (*source)->bundle("/not/readable");
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(test::text_of_file(path->string()), std::string(3 << 20, 'x') + "end");
}

// Anybody but root, if the test runs as root.
class OtherUser {
  public:
    OtherUser() { EXPECT_TRUE(::geteuid() != 0 || ::seteuid(65534) == 0); }
    ~OtherUser() {
        if (::getuid() == 0) {
            EXPECT_EQ(::seteuid(0), 0);
        }
    }
    OtherUser(const OtherUser&) = delete;
    OtherUser& operator=(const OtherUser&) = delete;
};

TEST_F(Watching, AUserWhoMayTraceGetsRecordingsOfATemporaryEvent) {
    test::write_text(folder_.string("bundle"), "recorded");
    const std::string ended =
        R"({"ok":true,"capture":null,"last_bundle":{"session":"s","path":"/not/readable"}})";
    const ScriptedDaemon daemon(
        socket_, recorder_of({armed, recording_status, ended}, folder_.string("bundle")));
    fs::permissions(folder_.path(), fs::perms::all);
    fs::permissions(socket_, fs::perms::all);
    const OtherUser user;
    const auto recording = RecordingSource::find(socket_, stop_);
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_FALSE((*recording)->is_temporary());
    ASSERT_TRUE((*recording)->begin(1500ms));
    ASSERT_TRUE((*recording)->await_end([] { return true; }));
    const auto path = (*recording)->bundle();
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(test::text_of_file(path->string()), "recorded");
    EXPECT_THAT(daemon.lines().at(0), StartsWith(R"({"command":"watch","event":"<event name=)"));
    EXPECT_EQ(daemon.count("finish"), 1U);
    EXPECT_EQ(daemon.count("record"), 0U);
}

TEST_F(Watching, TheBundleOfATemporaryEventIsAwaitedWhileItIsMade) {
    test::write_text(folder_.string("bundle"), "recorded");
    const auto ended = [](const std::string& session, int waiting) {
        return R"({"ok":true,"capture":null,"captures":{"waiting":)" + std::to_string(waiting) +
               R"(},"last_bundle":{"session":")" + session + R"(","path":"/not/readable"}})";
    };
    const auto bundle_after = [&](std::vector<std::string> after) {
        std::vector<std::string> answers{armed, recording_status};
        answers.insert(answers.end(), after.begin(), after.end());
        std::string outcome;
        {
            const ScriptedDaemon daemon(socket_,
                                        recorder_of(std::move(answers), folder_.string("bundle")));
            fs::permissions(folder_.path(), fs::perms::all);
            fs::permissions(socket_, fs::perms::all);
            const OtherUser user;
            const auto recording = RecordingSource::find(socket_, stop_);
            EXPECT_TRUE(recording);
            EXPECT_TRUE((*recording)->begin(1500ms));
            EXPECT_TRUE((*recording)->await_end([] { return true; }));
            const auto path = (*recording)->bundle();
            outcome = path ? test::text_of_file(path->string()) : path.error().message;
        }
        fs::remove(socket_);
        return outcome;
    };
    EXPECT_EQ(bundle_after({ended("other", 1), ended("other", 1), ended("s", 0)}), "recorded");
    EXPECT_EQ(bundle_after({ended("other", 1), ended("other", 0)}), "the recording failed");
}

TEST_F(Watching, AUserNeedsTheDaemon) {
    fs::permissions(folder_.path(), fs::perms::all);
    const OtherUser user;
    EXPECT_EQ(RecordingSource::find(socket_, stop_).error().message,
              "recording the machine needs root; try sudo");
}

TEST_F(Watching, ABundleWithoutAFileIsAnError) {
    const ScriptedDaemon daemon(socket_, watcher({armed}));
    auto source = WatchSource::start("<event/>", socket_, stop_);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->bundle("/x").error().message, "lagtrapd sent no recording");
}

TEST_F(Watching, AnInterruptEndsTheWait) {
    const pid_t watcher_pid = ::getpid();
    (void)watcher_pid;
    stop_ = 1;
    const ScriptedDaemon daemon(socket_, watcher({armed}));
    const auto source = WatchSource::start("<event/>", socket_, stop_);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().kind, ErrorKind::Vanished);
}

TEST_F(Watching, WithoutRootOnlyTheRunningDaemonCan) {
    if (::geteuid() == 0) return;  // a temporary daemon would start, which other tests do
    EXPECT_EQ(WatchSource::start("<event/>", socket_, stop_).error().message,
              "watching needs root; try sudo");
    const ScriptedDaemon daemon(socket_, watcher({armed}, R"({"ok":false,"error":"too many"})"));
    const auto refused = WatchSource::start("<event/>", socket_, stop_);
    EXPECT_EQ(refused.error().kind, ErrorKind::Denied);
    EXPECT_EQ(refused.error().message, "watching needs root, or the running lagtrapd: too many");
}

// A script plays the program of the daemon, and a scripted daemon its socket.
class Temporary : public testing::Test {
  protected:
    Result<std::unique_ptr<TemporaryDaemon>> start(
        const std::string& script, DaemonPurpose purpose = DaemonPurpose::Measuring) {
        const std::string program = folder_.string("lagtrapd");
        test::write_text(program, "#!/bin/sh\necho \"$@\" > " + folder_.string("arguments") +
                                      "\ncp \"$2\" " + folder_.string("settings") + "\n" + script);
        ::chmod(program.c_str(), 0755);
        return TemporaryDaemon::start(program, "<event name=\"a\"/>\n", stop_, purpose);
    }
    // Connects the socket and keeps the settings of each reload.
    [[nodiscard]] std::string serve() const {
        return "ln -s " + folder_.string("socket") +
               " \"$(dirname \"$2\")/control.sock\"\n"
               "s=$2\ntrap 'cp \"$s\" " +
               folder_.string("settings") + "; touch " + folder_.string("reloaded") +
               "' HUP\ntrap 'exit 0' TERM\nwhile :; do sleep 0.01; done\n";
    }
    [[nodiscard]] std::string settings() const {
        return test::text_of_file(folder_.string("settings"));
    }
    static std::string folder_of(const TemporaryDaemon& daemon) {
        return daemon.socket().parent_path().string();
    }
    static std::string status(std::uint64_t loaded, const std::string& error = {},
                              const std::string& more = {}) {
        return R"({"ok":true,"arming":null,"processes_found":true,"settings":{)"
               R"("loaded_realtime_ns":)" +
               std::to_string(loaded) + R"(,"reload_error":")" + error + "\"}" + more + "}";
    }
    test::TemporaryFolder folder_;
    volatile std::sig_atomic_t stop_ = 0;
};

TEST_F(Temporary, HasSettingsOfItsOwnAndLeavesNothing) {
    const ScriptedDaemon daemon(
        folder_.string("socket"),
        test::statuses({R"({"ok":true,"arming":{"done":1},"processes_found":true})", status(1)}));
    std::string folder;
    {
        const auto started = start(serve());
        ASSERT_TRUE(started) << started.error().message;
        folder = folder_of(**started);
        EXPECT_TRUE(fs::exists(folder));
        EXPECT_EQ((*started)->spool(), folder + "/spool");
        EXPECT_TRUE((*started)->alive());
        EXPECT_EQ(test::text_of_file(folder_.string("arguments")),
                  "--settings " + folder + "/settings.xml\n");
        EXPECT_EQ(settings(),
                  "<lagtrap version=\"1\">\n<recording cool-down=\"0s\" "
                  "captures-per-hour=\"3600\"/>\n<history length=\"0s\" early-share=\"0%\"/>\n"
                  "<budget interval=\"500ms\" pause=\"1h\"/>\n<runs batch-interval=\"500ms\"/>\n"
                  "<spool path=\"" +
                      folder + "/spool\"/>\n<control socket=\"" + folder +
                      "/control.sock\"/>\n<event name=\"a\"/>\n</lagtrap>\n");
        EXPECT_EQ(daemon.count("status"), 2U);
    }
    EXPECT_FALSE(fs::exists(folder));
}

TEST_F(Temporary, WatchesAsUsualIfTold) {
    const ScriptedDaemon daemon(folder_.string("socket"), test::statuses({status(1)}));
    const auto started = start(serve(), DaemonPurpose::Watching);
    ASSERT_TRUE(started) << started.error().message;
    EXPECT_THAT(settings(), testing::Not(HasSubstr("<budget")));
    EXPECT_THAT(settings(), HasSubstr("cool-down=\"0s\""));
}

TEST_F(Temporary, ADaemonThatExitsIsShownWithItsOutput) {
    const auto failed = start("echo no BPF here; exit 1\n");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "the temporary lagtrapd exited: no BPF here\n");
    const auto silent = start("exit 1\n");
    EXPECT_EQ(silent.error().message, "the temporary lagtrapd exited: without a message");
}

TEST_F(Temporary, AnInterruptEndsTheWait) {
    stop_ = 1;
    const auto failed = start(serve());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::Vanished);
    EXPECT_EQ(failed.error().message, "interrupted");
}

TEST_F(Temporary, WatchesOtherEventsOnceTheyAreArmed) {
    const ScriptedDaemon daemon(
        folder_.string("socket"),
        test::statuses({status(1), status(1), status(1),
                        R"({"ok":true,"arming":{},"settings":{"loaded_realtime_ns":2}})",
                        status(2)}));
    const auto started = start(serve());
    ASSERT_TRUE(started) << started.error().message;
    const Status watched = (*started)->watch("<event name=\"b\"/>\n");
    ASSERT_TRUE(watched) << watched.error().message;
    EXPECT_EQ(daemon.count("status"), 5U);
    while (!fs::exists(folder_.string("reloaded"))) ::usleep(1000);
    EXPECT_THAT(settings(), HasSubstr("<event name=\"b\"/>\n</lagtrap>"));
}

TEST_F(Temporary, SaysWhyEventsWereRefused) {
    const ScriptedDaemon daemon(folder_.string("socket"),
                                test::statuses({status(1), status(1), status(1, "no such probe")}));
    const auto started = start(serve());
    ASSERT_TRUE(started) << started.error().message;
    const Status watched = (*started)->watch("<event name=\"b\"/>\n");
    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(watched.error().message, "no such probe");
}

TEST_F(Temporary, RecordsAndGivesTheBundle) {
    const ScriptedDaemon daemon(
        folder_.string("socket"),
        test::statuses({status(1), status(1, "", R"(,"captures":{"done":0,"failed":0})"),
                        status(1, "", R"(,"captures":{"done":1},"last_bundle":{"path":"/b"})")}));
    const auto started = start(serve());
    ASSERT_TRUE(started) << started.error().message;
    EXPECT_EQ((*started)->record("look").value(), "/b");
    EXPECT_EQ(daemon.lines().at(1), R"({"command":"trigger","event":"look"})");
    EXPECT_EQ(daemon.count("status"), 3U);
}

TEST_F(Temporary, ARecordingThatFailedHasNone) {
    const ScriptedDaemon daemon(
        folder_.string("socket"),
        test::statuses({status(1), status(1, "", R"(,"captures":{"done":0,"failed":1})")}));
    const auto started = start(serve());
    ASSERT_TRUE(started) << started.error().message;
    EXPECT_EQ((*started)->record("look").error().message, "the recording failed");
}

TEST_F(Temporary, TheStatusAfterATimeIsALaterOne) {
    const ScriptedDaemon daemon(folder_.string("socket"), test::statuses({status(1), status(7)}));
    const auto started = start(serve());
    ASSERT_TRUE(started) << started.error().message;
    const auto begin = std::chrono::steady_clock::now();
    const auto after = (*started)->status_after(60ms);
    ASSERT_TRUE(after);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 60ms);
    EXPECT_EQ(after->at("settings").at("loaded_realtime_ns"), 7);
}

}  // namespace
}  // namespace lagtrap::cli::daemon_sources_test
