// Outliers and dirty runs: which are hidden, counted and shown.
#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::hidden_runs_contract_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HiddenRunsContract : public RunsStoreTest {};

TEST_F(HiddenRunsContract, OutliersAreShownUnlessAskedOtherwise) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 5; ++i) maker.add(monday + i, i * ms);
    add(1, maker.batch);
    const std::uint64_t slow =
        must(everything().runs().list(event_filter(), RunOrder::Slowest, 1, {})).runs.at(0).id;
    ASSERT_EQ(must(everything().marks().mark_dirty(
                  {{slow, true, rule_duration, "five times as long", "server", 7}})),
              1U);
    EXPECT_EQ(must(everything().marks().mark_dirty(
                  {{slow, true, rule_duration, "five times as long", "server", 8}})),
              0U);
    auto summary = must(summaries().summary(event_filter()));
    EXPECT_EQ(summary.counts.hidden, 0U);
    EXPECT_EQ(summary.counts.outliers, 1U);
    EXPECT_EQ(summary.longest_ns, 5 * ms);
    EXPECT_EQ(summary.durations.count(), 5U);
    const auto runs =
        must(everything().runs().list(event_filter(), RunOrder::Slowest, 10, {})).runs;
    ASSERT_THAT(runs, SizeIs(5));
    EXPECT_FALSE(runs[0].dirty.has_value());
    ASSERT_TRUE(runs[0].outlier.has_value());
    EXPECT_EQ(runs[0].outlier->reason, "five times as long");
    EXPECT_FALSE(runs[1].outlier.has_value());
    Filter without = event_filter();
    without.without_outliers = true;
    summary = must(summaries().summary(without));
    EXPECT_EQ(summary.longest_ns, 4 * ms);
    EXPECT_EQ(summary.counts.outliers, 1U);
    EXPECT_THAT(must(everything().runs().list(without, RunOrder::Slowest, 10, {})).runs, SizeIs(4));
    without.host = {"alpha"};  // roll-ups do not have hosts
    EXPECT_EQ(must(summaries().count_runs(without)).records, 4U);
    // A run's own defect also hides an outlier, and a person's decision overrides the rule.
    EXPECT_EQ(
        must(everything().marks().mark_dirty({{slow, true, rule_by_hand, "disturbed", "ann", 9}})),
        1U);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).hidden, 1U);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).outliers, 0U);
    EXPECT_EQ(
        must(everything().marks().mark_dirty({{slow, true, rule_duration, "", "server", 10}})), 0U);
    EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
}

TEST_F(HiddenRunsContract, DirtyRunsAreHiddenCountedAndPutBack) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 5; ++i) maker.add(monday + i, i * ms);
    maker.add(monday + 6, 900 * ms).dirty_reasons =
        trace::DirtySuspended | trace::DirtyClockStepped;
    add(1, maker.batch);
    auto summary = must(summaries().summary(event_filter()));
    EXPECT_EQ(summary.counts.hidden, 1U);
    EXPECT_EQ(summary.longest_ns, 5 * ms);
    Filter all = event_filter();
    all.with_dirty = true;
    const auto shown = must(everything().runs().list(all, RunOrder::Slowest, 10, {})).runs;
    ASSERT_THAT(shown, SizeIs(6));
    ASSERT_TRUE(shown[0].dirty.has_value());
    EXPECT_EQ(shown[0].dirty->rule, rule_reported);
    EXPECT_THAT(shown[0].dirty->reason, HasSubstr("slept"));
    all.only_dirty = true;
    const auto hidden = must(everything().runs().list(all, RunOrder::Newest, 10, {})).runs;
    ASSERT_THAT(hidden, SizeIs(1));
    EXPECT_EQ(hidden[0].id, shown[0].id);
    EXPECT_EQ(must(summaries().count_runs(all)).records, 1U);
    // A rule hides the longest remaining run.
    const std::uint64_t victim = shown[1].id;
    EXPECT_EQ(must(everything().marks().mark_dirty({{victim, true, "mad", "far off", "server", 7},
                                                    {12345, true, "mad", "", "", 7}})),
              1U);
    summary = must(summaries().summary(event_filter()));
    EXPECT_EQ(summary.counts.hidden, 2U);
    EXPECT_EQ(summary.longest_ns, 4 * ms);
    EXPECT_EQ(summary.durations.count(), 4U);
    EXPECT_THAT(durations(event_filter()), SizeIs(4));
    // A person shows it again; the rule must not hide it again.
    EXPECT_EQ(must(everything().marks().mark_dirty(
                  {{victim, false, rule_by_hand, "it is right", "ann", 8}})),
              1U);
    EXPECT_EQ(
        must(everything().marks().mark_dirty({{victim, true, "mad", "far off", "server", 9}})), 0U);
    summary = must(summaries().summary(event_filter()));
    EXPECT_EQ(summary.counts.hidden, 1U);
    EXPECT_EQ(summary.longest_ns, 5 * ms);
    const auto marks = must(everything().marks().dirty_marks(victim));
    ASSERT_THAT(marks, SizeIs(2));
    EXPECT_TRUE(marks[0].dirty);
    EXPECT_EQ(marks[1].by, "ann");
    const auto rows = must(everything().runs().run_durations(event_filter(), 100));
    ASSERT_THAT(rows, SizeIs(6));
    EXPECT_TRUE(rows[0].dirty);
    EXPECT_TRUE(rows[1].by_hand);
    EXPECT_FALSE(rows[2].by_hand);
    EXPECT_EQ(rows[1].host, "alpha");
    EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::hidden_runs_contract_test
