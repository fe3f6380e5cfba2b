#include "server/store/split_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::split_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

SplitPoint point(std::uint64_t runs, std::uint64_t delays) {
    SplitPoint made;
    made.runs = runs;
    made.delays = delays;
    made.durations.add(ms);
    return made;
}

TEST(SplitPart, AddsCountsAndPointsAndKeepsItsName) {
    SplitPart part{"a", point(1, 1), {{10, point(1, 1)}}};
    part.add({"b", point(5, 2), {{10, point(3, 1)}, {20, point(2, 1)}}});
    EXPECT_EQ(part.name, "a");
    EXPECT_EQ(part.whole.runs, 6U);
    EXPECT_EQ(part.whole.delays, 3U);
    EXPECT_EQ(part.whole.durations.count(), 2U);
    ASSERT_THAT(part.points, SizeIs(2));
    EXPECT_EQ(part.points[10].runs, 4U);
    EXPECT_EQ(part.points[10].delays, 2U);
    EXPECT_EQ(part.points[20].runs, 2U);
}

class SplitStoreTest : public DelaysStoreTest {
  protected:
    std::vector<std::string> names(const Filter& filter, SplitBy by) {
        std::vector<std::string> found;
        for (const SplitPart& part :
             must(everything().splits().split(filter, by, ActivityUnit::Day, 1000)).parts)
            found.push_back(part.name + " " + std::to_string(part.whole.runs) + " " +
                            std::to_string(part.whole.delays));
        return found;
    }
};

TEST_F(SplitStoreTest, MostDelaysComeFirstThenMostRunsThenTheName) {
    BatchMaker maker;
    const auto add_run = [&](const char* unit, std::uint64_t duration_ns, std::uint32_t weight) {
        trace::RecordedRun& run = maker.add(monday + maker.batch.runs.size(), duration_ns);
        run.unit = unit;
        run.build_id = std::string("build of ") + unit;
        run.weight = weight;
    };
    add_run("many", ms, 9);
    add_run("z few", ms, 2);
    add_run("a few", ms, 2);
    add_run("slow", 90 * ms, 1);
    add_run("slower", 90 * ms, 1);
    add_run("slower", 90 * ms, 1);
    add(1, maker.batch);
    EXPECT_THAT(names(event_filter(), SplitBy::Unit),
                ElementsAre("slower 2 2", "slow 1 1", "many 9 0", "a few 2 0", "z few 2 0"));
    EXPECT_EQ(names(event_filter(), SplitBy::Build).at(0), "build of slower 2 2");
    EXPECT_THAT(names(event_filter(), SplitBy::Host), ElementsAre("alpha 16 3"));
}

TEST_F(SplitStoreTest, UnknownUnitsOfOldRowsCountWithThoseOfNewOnes) {
    BatchMaker maker;
    maker.add(monday, ms);
    maker.add(monday + 1, ms);
    add(1, maker.batch);
    add_bundle(1, {});
    BundleDelay made = delay(1, monday);
    add_bundle(2, {made});
    ASSERT_TRUE(backend_
                    ->script("UPDATE run SET unit = (SELECT id FROM label WHERE kind = 9 AND text "
                             "= '') WHERE begin_ns = " +
                             std::to_string(monday))
                    .ok());
    EXPECT_THAT(names(event_filter(), SplitBy::Unit), ElementsAre(" 2 0"));
}

TEST_F(SplitStoreTest, HiddenRunsAreLeftOut) {
    BatchMaker maker;
    maker.add(monday, 90 * ms).dirty_reasons = trace::DirtyFailed;
    maker.add(monday + 1, ms);
    add(1, maker.batch);
    EXPECT_THAT(names(event_filter(), SplitBy::Host), ElementsAre("alpha 1 0"));
    EXPECT_EQ(must(everything().splits().run_groups(event_filter(), false, 9)).runs_read, 1U);
    Filter all = event_filter();
    all.with_dirty = true;
    EXPECT_THAT(names(all, SplitBy::Host), ElementsAre("alpha 2 1"));
}

TEST_F(SplitStoreTest, UnitsOfTimeAreHoursOrDays) {
    BatchMaker maker;
    for (const std::uint64_t at_ns : {monday + 1, monday + hour, monday + day})
        maker.add(at_ns, ms);
    add(1, maker.batch);
    const auto begins = [&](ActivityUnit unit) {
        std::vector<std::uint64_t> found;
        const SplitRuns runs =
            must(everything().splits().split(event_filter(), SplitBy::Host, unit, 1000));
        for (const auto& [from_ns, point] : runs.parts.at(0).points)
            found.push_back((from_ns - monday) / hour);
        return found;
    };
    EXPECT_THAT(begins(ActivityUnit::Hour), ElementsAre(0, 1, 24));
    EXPECT_THAT(begins(ActivityUnit::Day), ElementsAre(0, 24));
    const SplitRuns some =
        must(everything().splits().split(event_filter(), SplitBy::Host, ActivityUnit::Day, 2));
    EXPECT_EQ(some.runs_read, 2U);
    EXPECT_EQ(some.from_ns, monday + hour);
}

TEST_F(SplitStoreTest, GroupsAreOfHostBuildAndUnit) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, 90 * ms).weight = 2;
    alpha.add(monday + 1, ms).build_id = "ef56";
    beta.add(monday + 2, ms).unit = "web.service";
    beta.add(monday + 3, 2 * ms).unit = "web.service";
    add(1, alpha.batch);
    add(2, beta.batch);
    const auto texts = [](const RunGroups& groups) {
        std::vector<std::string> found;
        for (const RunGroup& group : groups.groups)
            found.push_back(group.host + " " + group.build + " " + group.unit + " " +
                            std::to_string(group.runs.runs) + " " +
                            std::to_string(group.runs.delays) + " " +
                            std::to_string(group.runs.durations.count()));
        return found;
    };
    const RunGroups all = must(everything().splits().run_groups(event_filter(), false, 9));
    EXPECT_THAT(texts(all), testing::UnorderedElementsAre("alpha cd34  2 2 2", "alpha ef56  1 0 1",
                                                          "beta cd34 web.service 2 0 2"));
    EXPECT_EQ(all.from_ns, monday);
    const RunGroups newest = must(everything().splits().run_groups(event_filter(), false, 3));
    EXPECT_EQ(newest.runs_read, 3U);
    EXPECT_EQ(newest.from_ns, monday + 1);

    BundleDelay web = delay(1, monday + hour, 300 * ms);
    web.unit = "web.service";
    add_bundle(1, {web, delay(2, monday + 2 * hour), normal_run(monday)}, "gamma");
    const RunGroups delays = must(everything().splits().run_groups(event_filter(), true, 9));
    EXPECT_THAT(texts(delays),
                testing::UnorderedElementsAre("gamma cd34  1 1 1", "gamma cd34 web.service 1 1 1"));
    EXPECT_EQ(delays.runs_read, 2U);
    EXPECT_EQ(delays.from_ns, monday + hour);
    for (const RunGroup& group : delays.groups) {
        if (group.unit.empty()) continue;
        EXPECT_NEAR(static_cast<double>(group.runs.durations.quantile_ns(0.5)), 300e6, 5e6);
    }
    const RunGroups last = must(everything().splits().run_groups(event_filter(), true, 1));
    EXPECT_EQ(last.from_ns, monday + 2 * hour);
    for (const bool of_delays : {false, true})
        EXPECT_EQ(everything().splits().run_groups({}, of_delays, 9).error().kind,
                  ErrorKind::Invalid);
    EXPECT_EQ(everything().splits().split({}, SplitBy::Host, ActivityUnit::Day, 9).error().kind,
              ErrorKind::Invalid);
    EXPECT_THAT(must(everything().splits().run_groups(event_filter("none"), false, 9)).groups,
                IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::split_store_test
