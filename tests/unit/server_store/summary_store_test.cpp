#include "server/store/summary_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::summary_store_test {
namespace {

using testing::ElementsAre;

class SummaryStoreTest : public RunsStoreTest {
  protected:
    std::uint64_t run_with(std::uint64_t duration_ns) {
        Filter all = event_filter();
        all.with_dirty = true;
        for (const StoredRun& run :
             must(everything().runs().list(all, RunOrder::Newest, 1000, {})).runs)
            if (run.duration_ns == duration_ns) return run.id;
        ADD_FAILURE() << "there is no such run";
        return 0;
    }
    void mark(std::uint64_t duration_ns, bool dirty, const char* rule) {
        ASSERT_EQ(must(everything().marks().mark_dirty(
                      {{run_with(duration_ns), dirty, rule, "", "", 1}})),
                  1U);
    }
    static std::vector<std::string> hours_of(const Summary& summary) {
        std::vector<std::string> found;
        for (const HourCount& hour_count : summary.hours)
            found.push_back(std::to_string((hour_count.hour_ns - monday) / hour) + " " +
                            std::to_string(hour_count.runs) + " " +
                            std::to_string(hour_count.delays));
        return found;
    }
};

TEST_F(SummaryStoreTest, CountsAreOfShownRunsAndSayHowManyAreHidden) {
    BatchMaker maker;
    maker.add(monday, 70 * ms).weight = 4;
    maker.add(monday + 1, 10 * ms).weight = 3;
    maker.add(monday + 2, 20 * ms).weight = 5;
    trace::RecordedRun& hidden = maker.add(monday + 3, 90 * ms);
    hidden.weight = 7;
    hidden.dirty_reasons = trace::DirtyFailed;
    add(1, maker.batch);
    mark(20 * ms, true, rule_duration);
    const auto text = [&](const Filter& filter) {
        const Summary summary = must(summaries().summary(filter));
        const RunCounts& counts = summary.counts;
        const RunCounts again = must(summaries().count_runs(filter));
        EXPECT_EQ(counts.records, again.records);
        EXPECT_EQ(counts.hidden, again.hidden);
        EXPECT_EQ(counts.outliers, again.outliers);
        EXPECT_EQ(counts.runs, again.runs);
        EXPECT_EQ(counts.delays, again.delays);
        return std::to_string(counts.records) + " records, " + std::to_string(counts.hidden) +
               " hidden, " + std::to_string(counts.outliers) + " outliers, " +
               std::to_string(counts.runs) + " runs, " + std::to_string(counts.delays) +
               " delays, " + std::to_string(summary.durations.count()) + "/" +
               std::to_string(summary.delay_durations.count()) + ", longest " +
               std::to_string(summary.longest_ns / ms);
    };
    for (const bool rolled_up : {true, false}) {
        Filter filter = event_filter();
        if (!rolled_up) filter.host = {"alpha"};
        const std::string all_counts = rolled_up ? "1 hidden, 1 outliers" : "1 hidden, 1 outliers";
        EXPECT_EQ(text(filter),
                  "3 records, " + all_counts + ", 12 runs, 4 delays, 12/4, longest 70");
        filter.without_outliers = true;
        EXPECT_EQ(text(filter), "2 records, " + all_counts + ", 7 runs, 4 delays, 7/4, longest 70");
        filter.without_outliers = false;
        filter.with_dirty = true;
        EXPECT_EQ(text(filter),
                  "4 records, " + all_counts + ", 19 runs, 11 delays, 19/11, longest 90");
        filter.only_dirty = true;
        EXPECT_EQ(text(filter), "1 records, " + all_counts + ", 7 runs, 7 delays, 7/7, longest 90");
    }
}

TEST_F(SummaryStoreTest, HoursAndDaysAreThoseWithRunsInOrder) {
    BatchMaker maker;
    for (const std::uint64_t at_ns :
         {monday + 30 * hour, monday + 5, monday + 59 * 60 * second, monday + hour})
        maker.add(at_ns, 60 * ms).weight = 2;
    maker.add(monday + 2 * hour, ms).dirty_reasons = trace::DirtyFailed;
    maker.add(monday + 31 * hour, ms).build_id = "ef56";
    add(1, maker.batch);
    EXPECT_THAT(hours_of(must(summaries().summary(event_filter()))),
                ElementsAre("0 4 4", "1 2 2", "30 2 2", "31 1 0"));
    Filter part = event_filter();
    part.from_ns = monday + 6;
    part.to_ns = monday + 30 * hour + 1;
    EXPECT_THAT(hours_of(must(summaries().summary(part))), ElementsAre("0 2 2", "1 2 2", "30 2 2"));
    std::vector<std::string> trend;
    for (const TrendPoint& point : must(summaries().trend(event_filter()))) {
        EXPECT_EQ(point.durations.count(), point.runs);
        trend.push_back(std::to_string((point.from_ns - monday) / day) + " " + point.build + " " +
                        std::to_string(point.runs) + " " + std::to_string(point.delays));
    }
    EXPECT_THAT(trend, ElementsAre("0 cd34 6 6", "1 cd34 2 2", "1 ef56 1 0"));
}

TEST_F(SummaryStoreTest, QuestionsNeedAnEvent) {
    EXPECT_EQ(summaries().summary({}).error().kind, ErrorKind::Invalid);
    EXPECT_EQ(summaries().count_runs({}).error().kind, ErrorKind::Invalid);
    EXPECT_EQ(summaries().trend({}).error().kind, ErrorKind::Invalid);
}

TEST_F(SummaryStoreTest, ARunThatBecomesHiddenTakesItsDurationWithIt) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 4; ++i) {
        trace::RecordedRun& run = maker.add(monday + i * 60 * second, 10 * i * i * ms);
        run.weight = 2;
    }
    maker.add(monday + hour, 5 * ms);
    maker.add(monday + 5, 800 * ms).build_id = "ef56";
    add(1, maker.batch);
    const auto compare = [&](const char* what) {
        Filter rolled = event_filter(), scanned = event_filter();
        scanned.host = {"alpha"};
        const Summary a = must(summaries().summary(rolled)), b = must(summaries().summary(scanned));
        EXPECT_EQ(a.counts.records, b.counts.records) << what;
        EXPECT_EQ(a.counts.runs, b.counts.runs) << what;
        EXPECT_EQ(a.counts.delays, b.counts.delays) << what;
        EXPECT_EQ(a.counts.hidden, b.counts.hidden) << what;
        EXPECT_EQ(a.counts.outliers, b.counts.outliers) << what;
        EXPECT_EQ(a.longest_ns, b.longest_ns) << what;
        EXPECT_EQ(a.durations, b.durations) << what;
        EXPECT_EQ(a.delay_durations, b.delay_durations) << what;
        EXPECT_EQ(hours_of(a), hours_of(b)) << what;
        return a;
    };
    Filter of_build = event_filter();
    of_build.build = {"cd34"};
    mark(160 * ms, true, "mad");
    compare("the longest is hidden");
    EXPECT_EQ(must(summaries().summary(of_build)).longest_ns, 90 * ms);
    mark(5 * ms, true, "mad");
    compare("the newest is hidden");
    EXPECT_EQ(must(everything().events().list({}, "", 9, {})).events.at(0).last_realtime_ns,
              monday + 3 * 60 * second);
    mark(10 * ms, true, rule_duration);
    compare("one is an outlier");
    mark(160 * ms, false, rule_by_hand);
    compare("the longest is shown again");
    EXPECT_EQ(must(summaries().summary(of_build)).longest_ns, 160 * ms);
    EXPECT_EQ(must(everything().events().list({}, "", 9, {})).events.at(0).last_realtime_ns,
              monday + 4 * 60 * second);
    for (const std::uint64_t duration_ns : {40, 90, 160})
        mark(duration_ns * ms, true, rule_by_hand);
    compare("only an outlier is shown");
    EXPECT_EQ(must(summaries().summary(of_build)).longest_ns, 10 * ms);
}

TEST_F(SummaryStoreTest, SpansOfAllLengthsCountEachRunOnce) {
    BatchMaker maker;
    for (std::uint64_t i = 0; i < 4 * 48; ++i) maker.add(monday + i * hour / 2, (i % 9 + 1) * ms);
    add(1, maker.batch);
    for (const std::uint64_t from_half_hours : {0, 1, 2, 47, 48, 49})
        for (const std::uint64_t half_hours : {1, 2, 3, 46, 48, 51, 96, 97})
            for (const std::uint64_t more_ns : {0, 1}) {
                Filter filter = event_filter();
                filter.from_ns = monday + from_half_hours * hour / 2 + more_ns;
                filter.to_ns = *filter.from_ns + half_hours * hour / 2;
                EXPECT_EQ(must(summaries().count_runs(filter)).records, half_hours)
                    << from_half_hours << " " << half_hours << " " << more_ns;
                const Summary summary = must(summaries().summary(filter));
                std::uint64_t in_hours = 0;
                for (const HourCount& hour_count : summary.hours) in_hours += hour_count.runs;
                EXPECT_EQ(in_hours, half_hours);
                EXPECT_EQ(summary.durations.count(), half_hours);
            }
    Filter backwards = event_filter();
    backwards.from_ns = monday + day;
    backwards.to_ns = monday;
    EXPECT_EQ(must(summaries().count_runs(backwards)).records, 0U);
}

}  // namespace
}  // namespace lagtrap::server::summary_store_test
