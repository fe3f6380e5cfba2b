#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::upkeep_contract_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UpkeepContract : public StoreTest {
  protected:
    // A run every half hour for three days.
    void fill() {
        BatchMaker maker;
        for (std::uint64_t i = 0; i < 144; ++i)
            maker.add(monday + i * hour / 2, (i + 1) * ms).dirty_reasons =
                i == 3 ? static_cast<std::uint32_t>(trace::DirtyAborted) : 0U;
        ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1, monday + 3 * day), maker.batch)),
                  AddOutcome::New);
    }
};

TEST_F(UpkeepContract, RetentionByAgeRemovesWholeHours) {
    fill();
    const auto removed = must(store_->upkeep().remove_runs_before(monday + day + 2 * hour + 5));
    EXPECT_EQ(removed.runs, 52U);
    EXPECT_EQ(removed.before_realtime_ns, monday + day + 2 * hour);
    Filter all = event_filter();
    all.with_dirty = true;
    const auto summary = must(summaries().summary(all));
    EXPECT_EQ(summary.counts.records, 92U);
    EXPECT_EQ(summary.durations.count(), 92U);
    EXPECT_THAT(must(everything().runs().list(all, RunOrder::Newest, 1000, {})).runs, SizeIs(92));
    EXPECT_EQ(must(store_->upkeep().size()).runs, 92U);
    EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
    EXPECT_EQ(must(store_->upkeep().remove_runs_before(monday + day)).runs, 0U);
    // Late runs are accepted nevertheless.
    BatchMaker late;
    late.add(monday + hour, ms);
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(2), late.batch)), AddOutcome::New);
    EXPECT_EQ(must(store_->upkeep().remove_runs_before(monday + 9 * day)).runs, 93U);
    EXPECT_THAT(must(everything().events().list({}, "", 10, {})).events, IsEmpty());
    EXPECT_THAT(must(everything().choices().of_event("")).hosts, IsEmpty());
}

TEST_F(UpkeepContract, NamesThatNothingHasAnyMoreAreFreed) {
    ASSERT_TRUE(
        backend_
            ->script(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2499) "
                "INSERT INTO label(kind, text, sender) SELECT 1, 'event ' || i, 'token' FROM n")
            .ok());
    const auto add = [&](std::uint64_t number, std::uint64_t day_of_week, const char* event) {
        BatchMaker maker;
        maker.add(monday + day_of_week * day, 10 * ms, event);
        const Receipt receipt = receipt_of(number, monday + day_of_week * day + hour);
        ASSERT_EQ(must(store_->batches().add_batch(receipt, maker.batch)), AddOutcome::New);
    };
    const auto runs_of = [&](const char* event) {
        return must(summaries().summary(event_filter(event))).counts.runs;
    };
    add(1, 0, "old");
    add(2, 0, "has no room");
    EXPECT_EQ(runs_of("has no room"), 0U);
    add(3, 8, "old");
    static_cast<void>(must(store_->upkeep().remove_runs_before(monday + 7 * day)));
    EXPECT_EQ(runs_of("old"), 1U) << "what was resolved since stays";
    add(4, 8, "has room");
    add(5, 8, "old");
    EXPECT_EQ(runs_of("has room"), 1U);
    EXPECT_EQ(runs_of("old"), 2U);
    EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
}

TEST_F(UpkeepContract, RetentionBySizeRemovesTheOldest) {
    const std::uint64_t empty_bytes = must(store_->upkeep().size()).bytes;
    fill();
    const auto before = must(store_->upkeep().size());
    EXPECT_EQ(before.runs, 144U);
    EXPECT_GT(before.bytes, 0U);
    EXPECT_EQ(must(store_->upkeep().shrink_runs(before.bytes)).runs, 0U);
    const std::uint64_t limit = (before.bytes + empty_bytes) / 2;
    const auto removed = must(store_->upkeep().shrink_runs(limit));
    EXPECT_LE(must(store_->upkeep().size()).bytes, limit);
    EXPECT_LT(removed.runs, 90U);
    const auto left =
        must(everything().runs().list(event_filter(), RunOrder::Newest, 1000, {})).runs;
    EXPECT_EQ(left.size() + removed.runs, 144U);
    EXPECT_EQ(left.front().begin_realtime_ns, monday + 143 * hour / 2);
    // The newest hour always stays.
    static_cast<void>(must(store_->upkeep().shrink_runs(0)));
    EXPECT_THAT(must(everything().runs().list(event_filter(), RunOrder::Newest, 1000, {})).runs,
                SizeIs(2));
}

// Within one day, whose space PostgreSQL frees only as a whole.
TEST_F(UpkeepContract, RetentionBySizeRemovesNoMoreThanItMust) {
    const std::uint64_t empty_bytes = must(store_->upkeep().size()).bytes;
    BatchMaker maker;
    for (std::uint64_t i = 0; i < 4800; ++i) maker.add(monday + i * hour / 200, (i + 1) * ms);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1, monday + day), maker.batch)),
              AddOutcome::New);
    const std::uint64_t limit = (must(store_->upkeep().size()).bytes + empty_bytes) / 2;
    const auto removed = must(store_->upkeep().shrink_runs(limit));
    EXPECT_GE(removed.runs, 2200U);
    EXPECT_LE(removed.runs, 3200U);
    EXPECT_LE(must(store_->upkeep().size()).bytes, limit);
    EXPECT_EQ(must(store_->upkeep().shrink_runs(limit)).runs, 0U);
    // New runs in the free space count.
    BatchMaker more;
    for (std::uint64_t i = 2400; i < 4800; ++i) more.add(monday + i * hour / 200, ms);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2, monday + day), more.batch)),
              AddOutcome::New);
    EXPECT_GT(must(store_->upkeep().size()).bytes, limit);
}

TEST_F(UpkeepContract, ANewerSchemaIsRefused) {
    store_.reset();
    ASSERT_TRUE(
        backend_->script("INSERT INTO schema_migrations(number, sha256) VALUES(999, 'x')").ok());
    const auto opened = backend_->open();
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(opened.error().message, HasSubstr("newer lagtrap-server"));
}

TEST_F(UpkeepContract, AChangedStepOfTheSchemaIsRefused) {
    store_.reset();
    ASSERT_TRUE(
        backend_->script("UPDATE schema_migrations SET sha256 = 'x' WHERE number = 2").ok());
    const auto opened = backend_->open();
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Invalid);
}

TEST_F(UpkeepContract, CheckFindsARollUpThatIsWrong) {
    fill();
    ASSERT_TRUE(backend_->script("UPDATE rollup SET records = records + 1 WHERE level = 0").ok());
    const auto complaints = must(store_->upkeep().check());
    ASSERT_FALSE(complaints.empty());
    EXPECT_THAT(complaints[0], HasSubstr("event open"));
}

}  // namespace
}  // namespace lagtrap::server::upkeep_contract_test
