// What `lagtrap runs` says if the spool has no single runs, or not the wanted ones.
#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::cli::runs_command_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t second = 1'000'000'000;
constexpr const char* histogram = R"({"ok":true,"events":[1,{"name":"query","runs":3,
    "threshold_ns":50000000,"max_ns":2000000,
    "histogram":[{"from_ns":1000000,"to_ns":2000000,"count":3}]},{"name":"frame"}]})";

class RunsCommand : public testing::Test {
  protected:
    RunsCommand() { std::filesystem::create_directories(folder_.path() / "ready"); }
    test::Outcome ask(std::vector<std::string> words) {
        words.insert(words.begin(), "runs");
        words.insert(words.end(), {"--spool", folder_.path().string()});
        std::string line;
        for (const char c : std::string(histogram))
            if (c != '\n') line += c;
        return test::run_with_daemon(words, test::statuses({line}));
    }
    test::Outcome ask_without_daemon(std::vector<std::string> words) {
        words.insert(words.begin(), {"runs", "--socket", "/none"});
        words.insert(words.end(), {"--spool", folder_.path().string()});
        return test::run_lagtrap(words);
    }
    void write_runs(const std::string& event, const std::vector<std::string>& stages,
                    std::uint64_t ago_s = 10) {
        trace::RunBatch batch;
        batch.batch_id = "3f0c1c5e-7a61-4a0e-9a7a-0c8f8a3b9d11";
        batch.host = "db1";
        batch.boot_id = "3f0c1c5e-7a61-4a0e-9a7a-0c8f8a3b9d12";
        batch.made_realtime_ns = ClockSnapshot::take().realtime_ns;
        trace::RecordedRun run;
        run.event = event;
        run.begin_realtime_ns = batch.made_realtime_ns - ago_s * second;
        run.duration_ns = 1'000'000;
        for (const std::string& stage : stages) run.stages.push_back({stage, 1000, 400, 0});
        batch.runs = {run};
        const auto bytes = trace::write_run_batch(batch);
        ASSERT_TRUE(bytes);
        test::write_text(folder_.string("ready/" + event + ".runs.zst"), *bytes);
    }
    test::TemporaryFolder folder_;
};

TEST_F(RunsCommand, TheDaemonsHistogramHasToDo) {
    const auto outcome = ask({"query"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("query"));
    EXPECT_TRUE(boost::json::parse(ask({"query", "--json"}).out).is_object());
}

TEST_F(RunsCommand, ItHasNoSingleRuns) {
    const std::vector<std::vector<std::string>> wishes{
        {"--stage", "plan"}, {"--from", "plan"}, {"--to", "plan"}, {"--slowest"}};
    for (auto words : wishes) {
        words.insert(words.begin(), "query");
        const auto outcome = ask(words);
        EXPECT_EQ(outcome.code, 1) << words[1];
        EXPECT_EQ(outcome.err,
                  "lagtrap: no single runs of \"query\" in the last 1h in the spool " +
                      folder_.path().string() +
                      "; set record=\"runs\" in <event name=\"query\">, or if it is set, try a "
                      "longer --since or <spool keep-sent-runs>\n");
    }
}

TEST_F(RunsCommand, AnUnknownEventHasANearestNameOrAList) {
    const std::string what = "lagtrap: no runs of \"";
    const std::string where = "\" in the last 1h in the spool " + folder_.path().string() +
                              ", and the daemon has no such event";
    EXPECT_EQ(ask({"qery"}).err, what + "qery" + where + "; did you mean \"query\"?\n");
    EXPECT_EQ(ask({"something-else"}).err,
              what + "something-else" + where + "; there are query, frame\n");
    EXPECT_EQ(ask_without_daemon({"something-else"}).err, what + "something-else" + where + "\n");
    write_runs("spooled", {});
    EXPECT_EQ(ask_without_daemon({"something-else"}).err,
              what + "something-else" + where + "; there are spooled\n");
    EXPECT_EQ(ask_without_daemon({"spoled"}).err,
              what + "spoled" + where + "; did you mean \"spooled\"?\n");
}

TEST_F(RunsCommand, AnUnknownStageIsSaid) {
    write_runs("query", {"plan", "execute"});
    for (const char* option : {"--stage", "--from", "--to"}) {
        const auto outcome = ask({"query", option, "parse"});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_EQ(outcome.err,
                  "lagtrap: the runs of \"query\" have no stage \"parse\"; they have "
                  "plan, execute\n")
            << option;
    }
    write_runs("query", {});
    EXPECT_EQ(ask({"query", "--stage", "parse"}).err,
              "lagtrap: the runs of \"query\" have no stage \"parse\"; they have no stages\n");
}

TEST_F(RunsCommand, RunsThatReachNoSuchPointAreSaid) {
    write_runs("query", {"plan", "execute"});
    EXPECT_EQ(ask({"query", "--from", "execute", "--to", "plan"}).err,
              "lagtrap: no run of \"query\" reaches execute and later plan\n");
    EXPECT_EQ(ask({"query", "--from", "plan", "--to", "execute"}).code, 0);
}

TEST_F(RunsCommand, OlderRunsDoNotCount) {
    write_runs("query", {}, 7200);
    EXPECT_THAT(ask_without_daemon({"query"}).err, HasSubstr("in the last 1h"));
    EXPECT_THAT(ask_without_daemon({"query", "--since", "3h"}).out, StartsWith("query: 1 run"));
    EXPECT_EQ(ask_without_daemon({"query", "--since", "100d"}).code, 0);
    EXPECT_THAT(ask({"query", "--since", "x"}).err, StartsWith("lagtrap: --since: "));
}

}  // namespace
}  // namespace lagtrap::cli::runs_command_test
