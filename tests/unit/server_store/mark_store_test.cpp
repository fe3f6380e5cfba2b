#include "server/store/mark_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::mark_store_test {
namespace {

using testing::SizeIs;

class MarkStoreTest : public RunsStoreTest {
  protected:
    std::uint64_t one_run() {
        BatchMaker maker;
        maker.add(monday, ms);
        add(1, maker.batch);
        return must(everything().runs().list(event_filter(), RunOrder::Newest, 1, {}))
            .runs.at(0)
            .id;
    }
    std::uint64_t mark(std::uint64_t run, bool dirty, const std::string& rule) {
        return must(everything().marks().mark_dirty({{run, dirty, rule, "why", "ann", 7}}));
    }
    std::size_t marks_of(std::uint64_t run) {
        return must(everything().marks().dirty_marks(run)).size();
    }
};

TEST_F(MarkStoreTest, AMarkComesBackAsItWas) {
    const std::uint64_t run = one_run();
    ASSERT_EQ(
        must(everything().marks().mark_dirty({{run, true, "ru\x1ble", "rea\x1bson", "b\x1by", 7}})),
        1U);
    ASSERT_EQ(mark(run, false, rule_by_hand), 1U);
    const auto marks = must(everything().marks().dirty_marks(run));
    ASSERT_THAT(marks, SizeIs(2));
    EXPECT_EQ(marks[0].run, run);
    EXPECT_TRUE(marks[0].dirty);
    EXPECT_EQ(marks[0].rule, "ru\\x1ble");
    EXPECT_EQ(marks[0].reason, "rea\\x1bson");
    EXPECT_EQ(marks[0].by, "b\\x1by");
    EXPECT_EQ(marks[0].at_realtime_ns, 7U);
    EXPECT_FALSE(marks[1].dirty);
}

TEST_F(MarkStoreTest, ARulesMarkThatChangesNothingIsDropped) {
    const std::uint64_t run = one_run();
    EXPECT_EQ(mark(run, false, "mad"), 0U);
    EXPECT_EQ(marks_of(run), 0U);
    EXPECT_EQ(mark(run, true, "mad"), 1U);
    EXPECT_EQ(mark(run, true, "other"), 0U);
    EXPECT_EQ(marks_of(run), 1U);
    EXPECT_EQ(mark(run, true, rule_duration), 1U) << "an outlier is not hidden";
    EXPECT_EQ(must(summaries().count_runs(event_filter())).outliers, 1U);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).hidden, 0U);
    EXPECT_EQ(mark(run, false, rule_duration), 1U);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).outliers, 0U);
}

TEST_F(MarkStoreTest, APersonsMarkIsKeptThoughItChangesNothingAndOverridesRules) {
    const std::uint64_t run = one_run();
    EXPECT_EQ(mark(run, false, rule_by_hand), 0U);
    EXPECT_EQ(marks_of(run), 1U);
    EXPECT_EQ(mark(run, true, "mad"), 0U);
    EXPECT_EQ(marks_of(run), 1U);
    EXPECT_EQ(mark(run, true, rule_by_hand), 1U);
    EXPECT_EQ(mark(run, false, "mad"), 0U);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).hidden, 1U);
    EXPECT_EQ(mark(12345, true, rule_by_hand), 0U);
}

TEST_F(MarkStoreTest, OnlyRunsThatChangedAreCounted) {
    BatchMaker maker;
    for (std::uint64_t i = 0; i < 3; ++i) maker.add(monday + i, ms);
    add(1, maker.batch);
    std::vector<DirtyMark> marks;
    for (const StoredRun& run :
         must(everything().runs().list(event_filter(), RunOrder::Newest, 9, {})).runs)
        marks.push_back({run.id, marks.size() != 1, "mad", "", "", 1});
    EXPECT_EQ(must(everything().marks().mark_dirty(marks)), 2U);
    EXPECT_EQ(must(everything().marks().mark_dirty({})), 0U);
}

}  // namespace
}  // namespace lagtrap::server::mark_store_test
