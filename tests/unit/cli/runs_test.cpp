// `lagtrap runs` on spools with batches of runs.
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/runs/run_text.hpp"
#include "core/clock.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::runs_test {
namespace {

using testing::HasSubstr;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t second = 1000 * ms;

trace::RecordedRun run_of(std::uint64_t begin_ns, std::uint64_t duration_ns) {
    trace::RecordedRun run;
    run.event = "query";
    run.begin_realtime_ns = begin_ns;
    run.duration_ns = duration_ns;
    run.threshold_ns = 50 * ms;
    run.delay = duration_ns > run.threshold_ns;
    run.pid = 400;
    run.begin_tid = run.end_tid = 400;
    run.process = "postgres";
    run.stages = {{"plan", duration_ns / 10, 400, 0}, {"execute", duration_ns / 5, 400, 0}};
    return run;
}

// A hundred runs of 1 to 100 ms, a second apart.
trace::RunBatch hundred_runs(std::uint64_t begin_ns) {
    trace::RunBatch batch;
    batch.batch_id = "3f0c1c5e-7a61-4a0e-9a7a-0c8f8a3b9d11";
    batch.host = "db1";
    batch.boot_id = "3f0c1c5e-7a61-4a0e-9a7a-0c8f8a3b9d12";
    batch.made_realtime_ns = begin_ns;
    for (std::uint64_t i = 1; i <= 100; ++i)
        batch.runs.push_back(run_of(begin_ns + i * second, i * ms));
    return batch;
}

class Runs : public testing::Test {
  protected:
    Runs() { std::filesystem::create_directories(folder_.path() / "ready"); }

    void write(const std::string& name, const std::string& bytes) {
        std::ofstream(folder_.path() / "ready" / (name + ".runs.zst"), std::ios::binary) << bytes;
    }
    void write(const std::string& name, const trace::RunBatch& batch) {
        const auto bytes = trace::write_run_batch(batch);
        ASSERT_TRUE(bytes) << bytes.error().message;
        write(name, *bytes);
    }
    test::Outcome ask(std::vector<std::string> words) {
        words.insert(words.begin(), "runs");
        words.insert(words.end(), {"--spool", folder_.path().string(), "--socket", "/none"});
        return test::run_lagtrap(words);
    }
    static std::uint64_t now_ns() { return ClockSnapshot::take().realtime_ns; }

    test::TemporaryFolder folder_;
};

TEST_F(Runs, ShowsPercentilesOfStages) {
    const std::uint64_t begin_ns = 1'795'000'000 * second;
    auto batch = hundred_runs(begin_ns);
    batch.runs[99].process = "evil\x1b[2J";
    batch.runs[99].times.emplace().parts.blocked_ns[LAGTRAP_WAIT_LOCK] = 60 * ms;
    batch.runs[0].dirty_reasons = trace::DirtyFailed;
    batch.runs_lost = 3;
    cli::SpoolRuns found;
    const cli::RunWish wish{"query", 0, "", true};
    found.summary.add(batch, wish);
    found.summary.finish(wish);
    const std::string text = cli::runs_text(found, wish, {cli::Paint(false), 80});
    test::expect_text(text, "runs.txt");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(Runs, AreShownAsWished) {
    const std::uint64_t begin_ns = 1'795'000'000 * second;
    trace::RunBatch batch = hundred_runs(begin_ns);
    batch.runs.resize(6);
    auto& timed = batch.runs;
    timed[0].times.emplace().parts.on_cpu_ns = ms;
    timed[1].times.emplace().parts.runnable_ns = ms;
    timed[2].times.emplace().handed_over_ns = ms;
    timed[3].stages.clear();
    timed[4].delay = true;
    timed[4].unit = "db.service";
    timed[4].thread = "worker";
    timed[4].weight = 3;
    std::string shown;
    const auto add = [&](const std::string& about, const cli::RunWish& wish) {
        cli::SpoolRuns found;
        found.summary.add(batch, wish);
        found.summary.finish(wish);
        found.unreadable = {{"ready/x.runs.zst", "it is damaged"}};
        shown += "# " + about + "\n" + cli::runs_text(found, wish, {cli::Paint(false), 80}) +
                 boost::json::serialize(cli::runs_json(found, wish)) + "\n";
    };
    cli::RunWish wish;
    wish.event = "query";
    add("the newest", wish);
    wish.span = {"plan", "execute"};
    add("between two stages", wish);
    wish.span = {"", "plan"};
    add("until a stage", wish);
    wish.span = {"execute", ""};
    wish.slowest = true;
    add("from a stage, the slowest", wish);
    wish.span = {};
    wish.stage = "execute";
    add("by a stage, the slowest", wish);
    const boost::json::object event{
        {"name", "query"},
        {"runs", 1200},
        {"delays", 3},
        {"max_ns", 9'000'000},
        {"histogram",
         boost::json::array{{{"from_ns", 1'000'000}, {"to_ns", 2'000'000}, {"count", 1000}},
                            {{"from_ns", 4'000'000}, {"to_ns", 8'000'000}, {"count", 200}}}}};
    shown += "# of a histogram\n" + cli::histogram_text(event, {cli::Paint(false), 80}) +
             boost::json::serialize(cli::histogram_json(event)) + "\n";
    test::expect_text(shown, "runs_wished.txt");
}

TEST_F(Runs, ReadsTheSpool) {
    write("a", hundred_runs(now_ns() - 200 * second));
    const auto all = ask({"query"});
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_THAT(all.out, testing::StartsWith("query: 100 runs, "));
    const auto json =
        boost::json::parse(ask({"query", "--json", "--slowest", "--stage", "plan"}).out);
    EXPECT_EQ(json.at("whole").at("median_ns").to_number<std::uint64_t>(), 50 * ms);
    EXPECT_EQ(json.at("stages").at(1).at("name"), "plan");
    EXPECT_EQ(json.at("stages").at(1).at("p99_ns").to_number<std::uint64_t>(),
              99 * ms / 5 - 99 * ms / 10);
    EXPECT_EQ(json.at("runs").at(0).at("duration_ns").to_number<std::uint64_t>(), 100 * ms);
    EXPECT_EQ(json.at("runs").as_array().size(), 20U);
    // Without --slowest, the newest come first; with --since, older ones are left out.
    EXPECT_THAT(ask({"query", "--since", "150s"}).out,
                testing::ContainsRegex("query: (49|50|51) runs"));
}

TEST_F(Runs, ShowsTheTimeBetweenTwoPoints) {
    auto batch = hundred_runs(now_ns() - 200 * second);
    batch.runs[0].stages.pop_back();
    batch.runs[1].stages[1].name = "plan";
    batch.runs[1].stages.push_back({"execute", 2 * ms, 400, 0});
    write("a", batch);
    const auto json = [this](std::vector<std::string> words) {
        words.insert(words.begin(), {"query", "--json"});
        return boost::json::parse(ask(words).out);
    };
    const auto between = json({"--from", "plan", "--to", "execute", "--slowest"}).at("span");
    EXPECT_EQ(between.at("runs"), 99);
    EXPECT_EQ(between.at("runs_without"), 1);
    EXPECT_EQ(between.at("longest_ns").to_number<std::uint64_t>(), 10 * ms);
    const auto until = json({"--to", "plan"}).at("span");
    EXPECT_EQ(until.at("runs"), 100);
    EXPECT_TRUE(until.at("from").is_null());
    EXPECT_EQ(until.at("longest_ns").to_number<std::uint64_t>(), 10 * ms);
    EXPECT_EQ(json({"--from", "execute"}).at("span").at("longest_ns").to_number<std::uint64_t>(),
              80 * ms);
    // A stage that comes twice: from its first time to its second.
    EXPECT_EQ(json({"--from", "plan", "--to", "plan"}).at("span").at("runs"), 1);
    const std::string text = ask({"query", "--slowest", "--from", "plan", "--to", "execute"}).out;
    EXPECT_THAT(text, HasSubstr("Slowest runs  whole, and from plan to execute"));
    EXPECT_THAT(text, HasSubstr("    100 ms   10.0 ms  postgres (400)"));
    EXPECT_THAT(text, HasSubstr("1 run does not have both points in this order."));
    EXPECT_EQ(ask({"query", "--from", "execute", "--to", "plan"}).err,
              "lagtrap: no run of \"query\" reaches execute and later plan\n");
    EXPECT_THAT(ask({"query", "--from", "parse"}).err,
                HasSubstr("have no stage \"parse\"; they have plan, execute"));
    EXPECT_EQ(ask({"query", "--from", "plan", "--stage", "plan"}).code, 2);
}

TEST_F(Runs, ReadsWhatWasSent) {
    write("a", hundred_runs(now_ns() - 200 * second));
    write("b", hundred_runs(now_ns() - 200 * second));
    const auto move = [this](const char* name, const char* state) {
        std::filesystem::create_directories(folder_.path() / state);
        std::filesystem::rename(folder_.path() / "ready" / name, folder_.path() / state / name);
    };
    move("a.runs.zst", "sent");
    EXPECT_THAT(ask({"query"}).out, testing::StartsWith("query: 200 runs, "));
    // As if it moved while the folders are listed.
    std::filesystem::create_directories(folder_.path() / "sending");
    std::filesystem::copy(folder_.path() / "ready" / "b.runs.zst",
                          folder_.path() / "sending" / "b.runs.zst");
    std::filesystem::last_write_time(
        folder_.path() / "sending" / "b.runs.zst",
        std::filesystem::last_write_time(folder_.path() / "ready" / "b.runs.zst"));
    EXPECT_THAT(ask({"query"}).out, testing::StartsWith("query: 200 runs, "));
}

TEST_F(Runs, SaysWhatIsWrong) {
    write("a", hundred_runs(now_ns() - 200 * second));
    write("b", "no batch");
    EXPECT_THAT(ask({"query"}).out, HasSubstr("Not read: b.runs.zst: "));
    EXPECT_EQ(ask({"quer"}).err,
              "lagtrap: no runs of \"quer\" in the last 1h in the spool " +
                  folder_.path().string() +
                  ", and the daemon has no such event; did you mean \"query\"?\n");
    EXPECT_EQ(ask({"query", "--stage", "parse"}).err,
              "lagtrap: the runs of \"query\" have no stage \"parse\"; they have plan, execute\n");
    EXPECT_THAT(ask({"query", "--since", "1"}).err, testing::StartsWith("lagtrap: --since: "));
    EXPECT_THAT(ask({"query", "--since", "1ms"}).err,
                HasSubstr("no runs of \"query\" in the last 1ms"));
    EXPECT_EQ(ask({}).code, 2);
    const auto nowhere =
        test::run_lagtrap({"runs", "query", "--spool", "/none", "--socket", "/none"});
    EXPECT_THAT(nowhere.err, HasSubstr("no runs of \"query\" in the last 1h in the spool /none"));
}

TEST(RunHistogram, StandsForRunsThatAreNotKept) {
    const auto event =
        boost::json::parse(R"({"name": "query", "runs": 1000, "delays": 4, "max_ns": 312000000,
        "histogram": [{"from_ns": 0, "to_ns": 1000000, "count": 990}, {"from_ns": 256000000,
        "to_ns": 512000000,
        "count": 10}]})")
            .as_object();
    const std::string text = cli::histogram_text(event, {cli::Paint(false), 80});
    EXPECT_THAT(
        text, testing::StartsWith("query: 1,000 runs since lagtrapd started, 4 delays\n  median "));
    EXPECT_THAT(text, HasSubstr("longest 312 ms\n"));
    EXPECT_THAT(text, HasSubstr("record=\"runs\""));
    EXPECT_EQ(cli::histogram_json(event).at("whole").at("longest_ns"), 312'000'000);
}

TEST(RunDurations, CountWeights) {
    cli::Durations durations;
    EXPECT_EQ(durations.percentile_ns(0.5), 0U);
    durations.add(100, 1);
    durations.add(10, 99);
    durations.sort();
    EXPECT_EQ(durations.runs(), 100U);
    EXPECT_EQ(durations.percentile_ns(0.99), 10U);
    EXPECT_EQ(durations.percentile_ns(0.999), 100U);
    EXPECT_EQ(durations.longest_ns(), 100U);
}

TEST(RunStages, LastFromOneMarkerToTheNext) {
    trace::RecordedRun run = run_of(1, 100);
    const auto stages = cli::stages_of(run);
    ASSERT_EQ(stages.size(), 3U);
    EXPECT_EQ(stages[0].name, "");
    EXPECT_EQ(stages[0].duration_ns, 10U);
    EXPECT_EQ(stages[1].duration_ns, 10U);
    EXPECT_EQ(stages[2].duration_ns, 80U);
    run.stages = {{"late", 900, 1, 0}, {"early", 5, 1, 0}};  // times that make no sense
    std::uint64_t sum_ns = 0;
    for (const auto& stage : cli::stages_of(run)) sum_ns += stage.duration_ns;
    EXPECT_EQ(sum_ns, 100U);
    run.stages.clear();
    EXPECT_TRUE(cli::stages_of(run).empty());
}

}  // namespace
}  // namespace lagtrap::runs_test
