#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::control_commands_test {
namespace {

using test::run_with_daemon;
using test::ScriptedDaemon;
using testing::HasSubstr;

struct Counts {
    int done = 0, failed = 0, merges_failed = 0, set_aside = 0, waiting = 0;
    bool records = false;
    std::string last{};  // session of the last bundle
};

std::string status_of(const Counts& counts) {
    boost::json::object status{{"ok", true},
                               {"capture", nullptr},
                               {"captures",
                                {{"done", counts.done},
                                 {"failed", counts.failed},
                                 {"merges_failed", counts.merges_failed},
                                 {"set_aside", counts.set_aside},
                                 {"waiting", counts.waiting}}},
                               {"last_bundle", nullptr}};
    if (counts.records) status["capture"] = {{"session", "x"}};
    if (!counts.last.empty()) status["last_bundle"] = {{"session", counts.last}};
    return boost::json::serialize(status);
}

// The status before the trigger, and those after it.
ScriptedDaemon::Handler recording(const std::vector<Counts>& counts,
                                  const std::string& begun = R"({"ok":true,"session":"s1"})") {
    std::vector<std::string> answers;
    for (const Counts& one : counts) answers.push_back(status_of(one));
    return [status = test::statuses(answers), begun](const std::string& line) mutable {
        return line.find("\"trigger\"") == std::string::npos ? status(line)
                                                             : ScriptedDaemon::Answer{begun + "\n"};
    };
}

test::Outcome record(const std::vector<Counts>& counts, std::size_t* asked = nullptr) {
    std::vector<std::string> lines;
    auto outcome = run_with_daemon({"trigger", "--wait", "query"}, recording(counts), &lines);
    if (asked != nullptr) *asked = lines.size();
    return outcome;
}

TEST(TriggerAndWait, ReturnsWithTheBundleOfItsRecording) {
    std::size_t asked = 0;
    const auto outcome =
        record({{}, {.records = true}, {.waiting = 1}, {.records = true, .last = "s1"}}, &asked);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "s1\n");
    EXPECT_EQ(asked, 5U);
}

TEST(TriggerAndWait, TheBundleOfAnotherRecordingMayHaveFollowed) {
    std::size_t asked = 0;
    const auto outcome = record({{.done = 4, .failed = 2, .last = "s0"},
                                 {.done = 4, .failed = 2, .last = "s0"},
                                 {.done = 5, .failed = 2, .records = true, .last = "s2"},
                                 {.done = 5, .failed = 2, .waiting = 1, .last = "s2"},
                                 {.done = 5, .failed = 2, .last = "s2"}},
                                &asked);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "s1\n");
    EXPECT_EQ(asked, 6U) << "nothing has happened at first, then it records, then merges";
}

TEST(TriggerAndWait, SaysThatItFailed) {
    const Counts before{.done = 1, .failed = 1, .merges_failed = 1, .set_aside = 1};
    for (int Counts::*const counter :
         {&Counts::failed, &Counts::merges_failed, &Counts::set_aside}) {
        for (const int done : {1, 2}) {
            Counts after = before;
            after.*counter = 2;
            after.done = done;
            const auto outcome = record({before, after});
            EXPECT_EQ(outcome.code, 1);
            EXPECT_EQ(outcome.out, "");
            EXPECT_EQ(outcome.err,
                      "lagtrap: the recording failed; see the daemon's log (journalctl -u "
                      "lagtrapd)\n");
        }
    }
}

TEST(TriggerAndWait, AsksForTheEventAndSaysWhatIsWrong) {
    std::vector<std::string> lines;
    const auto outcome = run_with_daemon({"trigger", "--wait", "query", "--json"},
                                         recording({{}, {.last = "s1"}}), &lines);
    EXPECT_EQ(outcome.out, "{\"session\":\"s1\"}\n");
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[1], R"({"command":"trigger","event":"query"})");
    EXPECT_EQ(
        run_with_daemon({"trigger", "--wait", "query"}, recording({{}}, R"({"ok":true})")).err,
        "lagtrap: lagtrapd is older than this command; restart it\n");
    const auto refused = run_with_daemon(
        {"trigger", "--wait", "query"}, recording({{}}, R"({"ok":false,"error":"no such event"})"));
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.err, "lagtrap: no such event\n");
}

TEST(Answers, AreJsonOrASentence) {
    const auto handler = [](const std::string&) {
        return ScriptedDaemon::Answer{"{\"ok\":true,\"event\":\"query\"}\n"};
    };
    for (const auto& [command, sentence] : std::vector<std::pair<std::string, std::string>>{
             {"trigger", "recording for query; \"lagtrap status\" shows when it is done\n"},
             {"approve", "approved: the recording is kept\n"},
             {"decline", "declined: the recording is discarded\n"}}) {
        std::vector<std::string> words{command};
        if (command == "trigger") words.emplace_back("query");
        std::vector<std::string> lines;
        EXPECT_EQ(run_with_daemon(words, handler, &lines).out, sentence);
        EXPECT_THAT(lines.at(0), HasSubstr("{\"command\":\"" + command + "\""));
        words.emplace_back("--json");
        EXPECT_EQ(run_with_daemon(words, handler).out, "{\"ok\":true,\"event\":\"query\"}\n");
    }
}

TEST(Answers, AFailureIsOne) {
    for (const char* command : {"status", "metrics", "approve", "decline"}) {
        const auto outcome = test::run_lagtrap({command, "--socket", "/no/such/socket"});
        EXPECT_EQ(outcome.code, 1) << command;
        EXPECT_EQ(outcome.out, "") << command;
        EXPECT_THAT(outcome.err, HasSubstr("lagtrapd is not running")) << command;
    }
}

class MetricsCommand : public testing::Test {
  protected:
    test::Outcome ask(std::vector<std::string> words) {
        words.insert(words.begin(), "metrics");
        return run_with_daemon(
            words, test::statuses({R"({"ok":true,"events":[{"name":"query","runs":7}]})"}));
    }
    test::TemporaryFolder folder_;
};

TEST_F(MetricsCommand, GoToTheFileInstead) {
    const std::string file = folder_.string("lagtrap.prom");
    test::write_text(file, "old");
    const auto outcome = ask({"-o", file});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(test::text_of_file(file), ask({}).out);
    EXPECT_THAT(test::text_of_file(file), HasSubstr("event=\"query\""));
    const auto failed = ask({"-o", folder_.string("none/lagtrap.prom")});
    EXPECT_EQ(failed.code, 1);
    EXPECT_THAT(failed.err, HasSubstr("none/lagtrap.prom"));
}

TEST_F(MetricsCommand, AreTheAnswerAsJson) {
    EXPECT_EQ(ask({"--json"}).out, "{\"ok\":true,\"events\":[{\"name\":\"query\",\"runs\":7}]}\n");
    const std::string file = folder_.string("metrics.json");
    EXPECT_EQ(ask({"--json", "-o", file}).out, "");
    EXPECT_EQ(test::text_of_file(file), ask({"--json"}).out);
}

TEST_F(MetricsCommand, AFullDiskBehindStandardOutputIsAFailure) {
    const ScriptedDaemon daemon(folder_.string("socket"), test::statuses({"{\"ok\":true}"}));
    std::ostringstream out, err;
    out.setstate(std::ios::badbit);
    Console console{out, err, Paint(false)};
    ControlOptions options;
    options.socket = folder_.string("socket");
    EXPECT_EQ(show_metrics(options, console), 1);
    EXPECT_EQ(err.str(), "lagtrap: cannot write to standard output\n");
}

}  // namespace
}  // namespace lagtrap::cli::control_commands_test
