#include "cli/runs/run_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::run_summary_test {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;
using testing::SizeIs;

trace::RecordedRun run(std::uint64_t begin_ns, std::uint64_t duration_ns,
                       std::uint32_t weight = 1) {
    trace::RecordedRun run;
    run.event = "query";
    run.begin_realtime_ns = begin_ns;
    run.duration_ns = duration_ns;
    run.weight = weight;
    return run;
}

// With stages "parse" and "plan" at these offsets.
trace::RecordedRun staged(std::uint64_t begin_ns, std::uint64_t duration_ns, std::uint64_t parse_ns,
                          std::uint64_t plan_ns) {
    trace::RecordedRun staged = run(begin_ns, duration_ns);
    staged.stages.resize(2);
    staged.stages[0].name = "parse";
    staged.stages[0].at_ns = parse_ns;
    staged.stages[1].name = "plan";
    staged.stages[1].at_ns = plan_ns;
    return staged;
}

RunSummary summary_of(std::vector<trace::RecordedRun> runs,
                      const RunWish& wish = {.event = "query"}) {
    trace::RunBatch batch;
    batch.runs = std::move(runs);
    RunSummary summary;
    summary.add(batch, wish);
    summary.finish(wish);
    return summary;
}

std::vector<std::uint64_t> durations_in(const RunSummary& summary) {
    std::vector<std::uint64_t> durations;
    for (const auto& one : summary.runs) durations.push_back(one.duration_ns);
    return durations;
}

TEST(RunSummary, PercentilesCountEachRunByItsWeight) {
    Durations durations;
    EXPECT_EQ(durations.percentile_ns(0.5), 0U);
    durations.add(100, 98);
    durations.add(900, 1);
    durations.add(500, 1);
    durations.sort();
    EXPECT_EQ(durations.runs(), 100U);
    EXPECT_EQ(durations.percentile_ns(0.5), 100U);
    EXPECT_EQ(durations.percentile_ns(0.98), 100U);
    EXPECT_EQ(durations.percentile_ns(0.99), 500U);
    EXPECT_EQ(durations.percentile_ns(1), 900U);
    EXPECT_EQ(durations.longest_ns(), 900U);
}

TEST(RunSummary, KeepsTheNewestOrTheSlowest) {
    const std::vector<trace::RecordedRun> runs{run(1, 300), run(3, 100), run(2, 200)};
    RunWish wish{.event = "query"};
    wish.runs_kept = 2;
    EXPECT_THAT(durations_in(summary_of(runs, wish)), ElementsAre(100, 200));
    wish.slowest = true;
    EXPECT_THAT(durations_in(summary_of(runs, wish)), ElementsAre(300, 200));
}

TEST(RunSummary, RunsOfOtherEventsAndOlderOnesDoNotCount) {
    std::vector<trace::RecordedRun> runs{run(10, 100, 5), run(20, 200), run(30, 300)};
    runs[2].event = "other";
    RunWish wish{.event = "query"};
    wish.since_realtime_ns = 11;
    const RunSummary summary = summary_of(runs, wish);
    EXPECT_THAT(durations_in(summary), ElementsAre(200));
    EXPECT_EQ(summary.whole.runs(), 1U);
    EXPECT_THAT(summary.events, ElementsAre(std::pair("other", 1), std::pair("query", 1)));
    EXPECT_EQ(summary.first_realtime_ns, 20U);
    EXPECT_EQ(summary.last_realtime_ns, 20U);
}

TEST(RunSummary, CountsDelaysAndDirtyRunsByWeight) {
    std::vector<trace::RecordedRun> runs{run(1, 100, 3), run(2, 9'000, 2)};
    runs[0].delay = true;
    runs[1].dirty_reasons = 1;
    const RunSummary summary = summary_of(runs);
    EXPECT_EQ(summary.delays, 3U);
    EXPECT_EQ(summary.dirty, 2U);
    EXPECT_EQ(summary.whole.longest_ns(), 100U);
    EXPECT_THAT(summary.runs, SizeIs(2));
}

TEST(RunSummary, LossesOfAllBatchesAddUp) {
    trace::RunBatch batch;
    batch.runs_lost = 4;
    RunSummary summary;
    summary.add(batch, {});
    summary.add(batch, {});
    EXPECT_EQ(summary.lost, 8U);
}

TEST(RunSummary, StagesLastUntilTheNextOne) {
    const auto stages = stages_of(staged(1, 100, 10, 40));
    ASSERT_THAT(stages, SizeIs(3));
    EXPECT_EQ(stages[0].name, "");
    EXPECT_EQ(stages[0].duration_ns, 10U);
    EXPECT_EQ(stages[1].name, "parse");
    EXPECT_EQ(stages[1].duration_ns, 30U);
    EXPECT_EQ(stages[2].name, "plan");
    EXPECT_EQ(stages[2].duration_ns, 60U);
    EXPECT_THAT(stages_of(run(1, 100)), SizeIs(0));
    // A stage beyond the end lasts no time.
    EXPECT_EQ(stages_of(staged(1, 100, 10, 400))[2].duration_ns, 0U);
}

TEST(RunSummary, ASpanIsFromTheFirstPointToTheNextOther) {
    const trace::RecordedRun one = staged(1, 100, 10, 40);
    EXPECT_THAT(length_of({"", ""}, one), Optional(Eq(100)));
    EXPECT_THAT(length_of({"parse", "plan"}, one), Optional(Eq(30)));
    EXPECT_THAT(length_of({"", "plan"}, one), Optional(Eq(40)));
    EXPECT_THAT(length_of({"plan", ""}, one), Optional(Eq(60)));
    EXPECT_EQ(length_of({"plan", "parse"}, one), std::nullopt);
    EXPECT_EQ(length_of({"parse", "commit"}, one), std::nullopt);
}

TEST(RunSummary, RanksBySpanOrStage) {
    RunWish wish{.event = "query"};
    wish.slowest = true;
    wish.stage = "parse";
    const std::vector<trace::RecordedRun> runs{staged(1, 100, 10, 20), staged(2, 90, 10, 70),
                                               run(3, 80)};
    EXPECT_THAT(durations_in(summary_of(runs, wish)), ElementsAre(90, 100, 80));
    wish.stage = "";
    wish.span = {"plan", ""};
    const RunSummary summary = summary_of(runs, wish);
    EXPECT_THAT(durations_in(summary), ElementsAre(100, 90, 80));
    EXPECT_EQ(summary.span.runs(), 2U);
    EXPECT_EQ(summary.without_span, 1U);
}

}  // namespace
}  // namespace lagtrap::cli::run_summary_test
