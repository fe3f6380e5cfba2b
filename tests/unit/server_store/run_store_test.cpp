#include "server/store/run_store.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::run_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class RunStoreTest : public DelaysStoreTest {
  protected:
    std::vector<StoredRun> newest(std::uint32_t limit = 1000) {
        return must(everything().runs().list(event_filter(), RunOrder::Newest, limit, {})).runs;
    }
    RunDetail detail(std::uint64_t id) {
        auto found = must(everything().runs().find_run(id));
        EXPECT_TRUE(found.has_value());
        return found ? std::move(*found) : RunDetail{};
    }
};

TEST_F(RunStoreTest, RunsAreNotListedFromTheOldestOn) {
    const auto listed = everything().runs().list(event_filter(), RunOrder::Oldest, 10, {});
    ASSERT_FALSE(listed.ok());
    EXPECT_EQ(listed.error().kind, ErrorKind::Invalid);
}

TEST_F(RunStoreTest, APageHasAtLeastOneAndAtMostAThousand) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 1002; ++i) maker.add(monday + i, ms);
    add(1, maker.batch);
    EXPECT_THAT(newest(0), SizeIs(1));
    const RunPage full = must(everything().runs().list(event_filter(), RunOrder::Newest, 5000, {}));
    EXPECT_THAT(full.runs, SizeIs(1000));
    ASSERT_TRUE(full.next.has_value());
    EXPECT_EQ(full.next->value, monday + 3);
    EXPECT_EQ(full.next->id, full.runs.back().id);
    EXPECT_THAT(
        must(everything().runs().list(event_filter(), RunOrder::Newest, 5000, full.next)).runs,
        SizeIs(2));
    Filter two = event_filter();
    two.to_ns = monday + 3;
    EXPECT_FALSE(must(everything().runs().list(two, RunOrder::Newest, 2, {})).next.has_value());
}

TEST_F(RunStoreTest, TheSlowestOfAFilterComeInPagesToo) {
    BatchMaker alpha, beta("beta");
    for (std::uint64_t i = 0; i < 9; ++i) {
        alpha.add(monday + i * hour, (i % 4 + 1) * ms);
        beta.add(monday + i * hour, 99 * ms);
    }
    add(1, alpha.batch);
    add(2, beta.batch);
    Filter filter = event_filter();
    filter.host = {"alpha"};
    std::vector<std::uint64_t> found;
    std::optional<PageKey> after;
    do {
        const RunPage page = must(everything().runs().list(filter, RunOrder::Slowest, 2, after));
        for (const StoredRun& run : page.runs) found.push_back(run.duration_ns / ms);
        after = page.next;
    } while (after);
    EXPECT_THAT(found, ElementsAre(4, 4, 3, 3, 2, 2, 1, 1, 1));
}

TEST_F(RunStoreTest, OfRunsThatBeganTogetherTheLastComesFirst) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 3; ++i) maker.add(monday, i * ms);
    add(1, maker.batch);
    EXPECT_THAT(durations(event_filter()), ElementsAre(3 * ms, 2 * ms, 1 * ms));
}

TEST_F(RunStoreTest, ARunHasItsThreadsUnitAndStacks) {
    BatchMaker maker;
    maker.batch.stacks.push_back({{"demo", "cd34", 0x99, "finish", "end.c", 3}});
    trace::RecordedRun& made = maker.add(monday, 100 * ms);
    made.pid = 1;
    made.begin_tid = 2;
    made.end_tid = 3;
    made.unit = "web.service";
    made.begin_stack = 0;
    made.end_stack = 2;
    made.stages = {{"first", 30 * ms, 4, 1}, {"second", 70 * ms, 5, 2}};
    add(1, maker.batch);
    const RunDetail found = detail(newest().at(0).id);
    EXPECT_EQ(found.run.pid, 1U);
    EXPECT_EQ(found.run.begin_tid, 2U);
    EXPECT_EQ(found.run.end_tid, 3U);
    EXPECT_EQ(found.run.unit, "web.service");
    ASSERT_THAT(found.run.stages, SizeIs(2));
    EXPECT_EQ(found.run.stages[0].name, "first");
    EXPECT_EQ(found.run.stages[0].at_ns, 30 * ms);
    EXPECT_EQ(found.run.stages[0].duration_ns, 40 * ms);
    EXPECT_EQ(found.run.stages[0].tid, 4U);
    EXPECT_EQ(found.run.stages[1].at_ns, 70 * ms);
    EXPECT_EQ(found.run.stages[1].duration_ns, 30 * ms);
    EXPECT_EQ(found.run.stages[1].tid, 5U);
    std::vector<std::string> markers;
    for (const MarkerHit& marker : found.markers)
        markers.push_back(marker.name + " " + std::to_string(marker.at_ns / ms) + " " +
                          std::to_string(marker.tid) + " " +
                          (marker.stack.empty() ? "-" : marker.stack[0].function));
    EXPECT_THAT(markers, ElementsAre("begin 0 2 -", "first 30 4 load_data", "second 70 5 finish",
                                     "end 100 3 finish"));
    EXPECT_EQ(found.markers[2].stack, maker.batch.stacks[1]);
}

TEST_F(RunStoreTest, AStageAfterTheEndTookNoTime) {
    BatchMaker maker;
    maker.add(monday, 100 * ms).stages = {{"late", 120 * ms, 1, 0}, {"earlier", 110 * ms, 1, 0}};
    add(1, maker.batch);
    const StoredRun run = newest().at(0);
    EXPECT_EQ(run.stages.at(0).duration_ns, 0U);
    EXPECT_EQ(run.stages.at(1).duration_ns, 0U);
}

TEST_F(RunStoreTest, RunsAreFoundInTheOrderAskedFor) {
    BatchMaker maker;
    for (std::uint64_t i = 0; i < 2500; ++i) maker.add(monday + i, (i + 1) * 1000);
    add(1, maker.batch);
    std::vector<std::uint64_t> ids;
    for (const RunDuration& run : must(everything().runs().run_durations(event_filter(), 2500)))
        ids.push_back(run.id);
    std::reverse(ids.begin(), ids.end());
    ids.insert(ids.begin() + 5, {77, UINT64_MAX});
    const auto found = must(everything().runs().find_runs(ids));
    ASSERT_THAT(found, SizeIs(2500));
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i].duration_ns, (i + 1) * 1000) << i;
    EXPECT_FALSE(must(everything().runs().find_run(UINT64_MAX)).has_value());
    EXPECT_THAT(must(everything().runs().find_runs({})), IsEmpty());
    // Beyond ten thousand numbers, nothing more is looked up.
    std::vector<std::uint64_t> many(9'999, 77);
    many.insert(many.end(), ids.begin(), ids.begin() + 3);
    EXPECT_THAT(must(everything().runs().find_runs(many)), SizeIs(1));
}

TEST_F(RunStoreTest, ARunNamesTheBundleThatHasItAndItsMark) {
    BatchMaker maker;
    maker.add(monday, 100 * ms);
    maker.add(monday + hour, 100 * ms);
    add(1, maker.batch);
    add_bundle(1, {delay(4, monday)});
    add_bundle(2, {delay(5, monday)});
    const auto runs = newest();
    EXPECT_EQ(runs.at(1).bundle, digest_of(2)) << "the one that came last";
    EXPECT_EQ(runs.at(1).bundle_delay, 5U);
    EXPECT_FALSE(runs.at(0).bundle.has_value());
    const std::uint64_t id = runs.at(1).id;
    ASSERT_EQ(
        must(everything().marks().mark_dirty({{id, true, rule_duration, "far", "server", 6}})), 1U);
    ASSERT_EQ(must(everything().marks().mark_dirty({{id, true, "mad", "odd", "other", 7}})), 1U);
    const StoredRun run = detail(id).run;
    ASSERT_TRUE(run.dirty.has_value());
    EXPECT_FALSE(run.outlier.has_value());
    EXPECT_EQ(run.dirty->run, id);
    EXPECT_TRUE(run.dirty->dirty);
    EXPECT_EQ(run.dirty->rule, "mad");
    EXPECT_EQ(run.dirty->reason, "odd");
    EXPECT_EQ(run.dirty->by, "other");
    EXPECT_EQ(run.dirty->at_realtime_ns, 7U);
}

TEST_F(RunStoreTest, DurationsHaveWhatARuleNeeds) {
    BatchMaker maker;
    maker.add(monday, 70 * ms).weight = 3;
    trace::RecordedRun& cold = maker.add(monday + 1, 20 * ms);
    cold.start = trace::StartKind::Cold;
    cold.build_id = "ef56";
    maker.add(monday + 2, 30 * ms);
    add(1, maker.batch);
    const auto runs = newest();
    ASSERT_EQ(must(everything().marks().mark_dirty({{runs[0].id, true, rule_duration, "", "", 1},
                                                    {runs[1].id, true, rule_by_hand, "", "", 1}})),
              2U);
    const auto found = must(everything().runs().run_durations(event_filter(), 10));
    ASSERT_THAT(found, SizeIs(3));
    const auto text = [](const RunDuration& run) {
        return std::to_string(run.begin_realtime_ns - monday) + " " +
               std::to_string(run.duration_ns / ms) + " " + std::to_string(run.weight) + " " +
               std::to_string(static_cast<int>(run.start)) + (run.delay ? " delay" : "") +
               (run.dirty ? " dirty" : "") + (run.outlier ? " outlier" : "") +
               (run.by_hand ? " by hand" : "") + " " + run.build + " " + run.host;
    };
    EXPECT_EQ(text(found[0]), "2 30 1 2 outlier cd34 alpha");
    EXPECT_EQ(text(found[1]), "1 20 1 1 dirty by hand ef56 alpha");
    EXPECT_EQ(text(found[2]), "0 70 3 2 delay cd34 alpha");
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].id, runs[i].id);
    EXPECT_EQ(must(everything().runs().run_durations(event_filter(), 1)).at(0).id, runs[0].id);
    // They are also counted: a hidden run is no run of a list.
    EXPECT_THAT(durations(event_filter()), SizeIs(2));
}

TEST_F(RunStoreTest, StacksOfAStageAreThoseOfTheNewestRuns) {
    BatchMaker maker;
    maker.batch.stacks.push_back({{"demo", "cd34", 0x99, "other", "", 0}});
    for (std::uint64_t i = 1; i <= 6; ++i) {
        trace::RecordedRun& run = maker.add(monday + i, 100 * ms);
        run.stages = {{"loaded", 100 * ms - i * i * ms, 1, i <= 2 ? 2U : 1U}};
    }
    maker.add(monday + 7, 40 * ms).stages.clear();
    maker.add(monday + 8, 900 * ms).dirty_reasons = trace::DirtySuspended;
    add(1, maker.batch);
    const RunStore runs = everything().runs();
    const StageStacks loaded = must(runs.stage_stacks(event_filter(), "loaded", 100));
    EXPECT_EQ(loaded.runs_read, 7U);
    ASSERT_THAT(loaded.stacks, SizeIs(2));
    EXPECT_EQ(loaded.stacks[0].frames.at(0).function, "load_data");
    EXPECT_EQ(loaded.stacks[0].hits, 4U);
    EXPECT_EQ(loaded.stacks[0].median_ns, 16 * ms) << "the lower of the two in the middle";
    EXPECT_EQ(loaded.stacks[0].longest_ns, 36 * ms);
    EXPECT_EQ(loaded.stacks[1].hits, 2U);
    // Of as many, the one with the longest comes first.
    const StageStacks some = must(runs.stage_stacks(event_filter(), "loaded", 3));
    EXPECT_EQ(some.runs_read, 3U);
    EXPECT_EQ(some.stacks.at(0).hits, 2U);
    const StageStacks begin = must(runs.stage_stacks(event_filter(), "begin", 100));
    ASSERT_THAT(begin.stacks, SizeIs(1));
    EXPECT_EQ(begin.stacks[0].hits, 7U);
    EXPECT_EQ(begin.stacks[0].longest_ns, 99 * ms);
    EXPECT_EQ(begin.stacks[0].median_ns, 84 * ms);
    const StageStacks nothing = must(runs.stage_stacks(event_filter(), "unheard of", 100));
    EXPECT_EQ(nothing.runs_read, 0U);
    EXPECT_THAT(nothing.stacks, IsEmpty());
}

TEST_F(RunStoreTest, EquallyFrequentStacksAreOrderedByTheLongestStage) {
    BatchMaker maker;
    maker.batch.stacks.push_back({{"demo", "cd34", 0x99, "slow", "", 0}});
    maker.add(monday, 100 * ms).stages = {{"loaded", 90 * ms, 1, 1}};
    maker.add(monday + 1, 100 * ms).stages = {{"loaded", 10 * ms, 1, 2}};
    add(1, maker.batch);
    const auto stacks = must(everything().runs().stage_stacks(event_filter(), "loaded", 9)).stacks;
    ASSERT_THAT(stacks, SizeIs(2));
    EXPECT_EQ(stacks[0].frames.at(0).function, "slow");
}

TEST_F(RunStoreTest, AThousandStacksOfAStageAreShown) {
    BatchMaker maker;
    maker.batch.stacks.clear();
    for (std::uint32_t i = 1; i <= 1001; ++i) {
        maker.batch.stacks.push_back({{"demo", "cd34", i, "f" + std::to_string(i), "", 0}});
        trace::RecordedRun& run = maker.add(monday + i, 100 * ms);
        run.begin_stack = i;
        run.stages.clear();
    }
    add(1, maker.batch);
    EXPECT_THAT(must(everything().runs().stage_stacks(event_filter(), "begin", 2000)).stacks,
                SizeIs(1000));
}

TEST_F(RunStoreTest, TimesAreThoseOfShownRuns) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        trace::RecordedRun& run = maker.add(monday + i, i * ms);
        run.times.emplace().parts.on_cpu_ns = i;
        if (i == 3) run.dirty_reasons = trace::DirtySuspended;
    }
    add(1, maker.batch);
    const TimedRuns timed = must(everything().runs().run_times(event_filter(), 10));
    EXPECT_EQ(timed.runs_read, 2U);
    EXPECT_THAT(timed.runs, SizeIs(2));
    EXPECT_EQ(must(everything().runs().run_times(event_filter(), 1)).runs.at(0).duration_ns,
              2 * ms);
}

}  // namespace
}  // namespace lagtrap::server::run_store_test
