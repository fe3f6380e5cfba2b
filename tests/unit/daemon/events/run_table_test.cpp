#include "daemon/events/run_table.hpp"

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/run_table_fixture.hpp"

namespace lagtrap::daemon::run_table_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t unit_ns = LAGTRAP_SPILLED_MASK + 1;  // of the times in a bucket's state

TEST(RunTableSize, LeavesAThirdOfThePlacesFree) {
    EXPECT_EQ(RunTable::buckets_for(0), 1024U);
    EXPECT_EQ(RunTable::buckets_for(4778), 1024U);
    EXPECT_EQ(RunTable::buckets_for(4779), 2048U);
    EXPECT_EQ(RunTable::buckets_for(9557), 2048U);
    EXPECT_EQ(RunTable::buckets_for(9558), 4096U);
    EXPECT_EQ(RunTable::buckets_for(200'000), 65'536U);
    EXPECT_EQ(RunTable::buckets_for(100'000'000), 65'536U) << "the largest";
}

TEST(RunTableSize, IsAThousandthOfTheMemoryAtMost) {
    constexpr std::uint64_t bucket_bytes = sizeof(lagtrap_slot) * LAGTRAP_BUCKET_SLOTS;
    EXPECT_EQ(RunTable::buckets_in(0), 1024U) << "the smallest";
    EXPECT_EQ(RunTable::buckets_in(2048 * bucket_bytes * 1024 - 1), 1024U);
    EXPECT_EQ(RunTable::buckets_in(2048 * bucket_bytes * 1024), 2048U);
    EXPECT_EQ(RunTable::buckets_in(4096 * bucket_bytes * 1024 - 1), 2048U);
    EXPECT_EQ(RunTable::buckets_in(std::numeric_limits<std::uint64_t>::max()), 65'536U);
}

class RunTableTest : public RunTableFixture {
  protected:
    std::vector<std::size_t> overdue_first(std::uint64_t now_ns, std::size_t limit = 100) {
        std::vector<std::size_t> indexes;
        table.for_each_overdue_first(now_ns, [&](std::size_t index, std::uint64_t) {
            indexes.push_back(index);
            return indexes.size() < limit;
        });
        return indexes;
    }
    // Which runs were visited, and what visit_due() returned. Each wants a visit at `wanted`.
    std::pair<std::vector<std::size_t>, std::uint64_t> visited(
        std::uint64_t now_ns, bool all, std::map<std::size_t, std::uint64_t> wanted = {}) {
        std::vector<std::size_t> indexes;
        const auto next_ns =
            table.visit_due(now_ns, all, [&](std::size_t index, std::uint64_t) -> std::uint64_t {
                indexes.push_back(index);
                return wanted.contains(index) ? wanted[index] : LAGTRAP_NEVER_NS;
            });
        return {indexes, next_ns};
    }
};

TEST_F(RunTableTest, HasSevenRunsPerBucket) {
    EXPECT_EQ(table.buckets(), 1024U);
    EXPECT_EQ(table.slots(), 8192U);
    EXPECT_EQ(table.limit(), 7168U);
    EXPECT_EQ(table.first_bucket(tag_in(5, 9)), 5U);
    EXPECT_EQ(table.second_bucket(tag_in(5, 9)), 9U);
    EXPECT_TRUE(RunTable::is_state(7));
    EXPECT_FALSE(RunTable::is_state(8));
    EXPECT_TRUE(RunTable::is_state(15));
}

TEST_F(RunTableTest, MemoryThatCannotBeMappedIsNamed) {
    const auto mapped = RunTable::map(-1, slots.get(), buckets);
    ASSERT_FALSE(mapped);
    EXPECT_THAT(mapped.error().message, testing::StartsWith("map the table of open runs"));
}

TEST_F(RunTableTest, CountsPlacesAlsoOfRunsThatAreBeingEnded) {
    EXPECT_EQ(table.places_used(3), 0U);
    (void)open(3, 0, 10);
    (void)open(3, 6, 10);
    table.tag(index_of(3, 2)) = LAGTRAP_TAG_TAKEN;
    table.state(3) = 5 * unit_ns;
    (void)open(4, 0, 10);
    EXPECT_EQ(table.places_used(3), 3U);
    std::vector<std::size_t> found;
    table.for_each_open([&](std::size_t index, std::uint64_t) { found.push_back(index); });
    EXPECT_THAT(found, ElementsAre(24, 30, 32)) << "only those that are open";
}

TEST_F(RunTableTest, RunsPastTheirDeadlineComeFirst) {
    (void)open(0, 0, 101);
    (void)open(1, 0, 99);
    (void)open(2, 0, 100);
    (void)open(3, 0, 50);
    EXPECT_THAT(overdue_first(100), ElementsAre(8, 24, 0, 16));
    EXPECT_THAT(overdue_first(100, 3), ElementsAre(8, 24, 0));
    EXPECT_THAT(overdue_first(100, 1), ElementsAre(8));
}

TEST_F(RunTableTest, WantsTheEarliestVisitRoundedUp) {
    std::uint64_t& state = table.state(2);
    state = 3;
    table.want_visit(index_of(2, 4), 4 * unit_ns + 1);
    EXPECT_EQ(state, 5 * unit_ns | 3) << "the runs that spilled are kept";
    table.want_visit(index_of(2, 0), 5 * unit_ns + 1);
    EXPECT_EQ(state, 5 * unit_ns | 3) << "an earlier one is wanted already";
    table.want_visit(index_of(2, 0), 4 * unit_ns);
    EXPECT_EQ(state, 4 * unit_ns | 3);
    table.want_visit(index_of(2, 0), 1);
    EXPECT_EQ(state, unit_ns | 3);
    EXPECT_EQ(table.state(1), 0U);
    EXPECT_EQ(table.state(3), 0U);
}

TEST_F(RunTableTest, VisitsBucketsThatAreDue) {
    for (const std::uint32_t bucket : {0U, 1U, 2U, 3U}) (void)open(bucket, 0, 10);
    table.state(0) = 5 * unit_ns | 2;
    table.state(1) = 6 * unit_ns;
    table.state(2) = 7 * unit_ns;
    const auto [early, next_ns] = visited(5 * unit_ns - 1, false);
    EXPECT_THAT(early, IsEmpty());
    EXPECT_EQ(next_ns, 5 * unit_ns);
    const auto [due, then_ns] = visited(5 * unit_ns, false, {{0, 9 * unit_ns}});
    EXPECT_THAT(due, ElementsAre(0));
    EXPECT_EQ(then_ns, 6 * unit_ns) << "of those that were not visited";
    EXPECT_EQ(table.state(0), 9 * unit_ns | 2);
    const auto [all, last_ns] = visited(0, true);
    EXPECT_THAT(all, ElementsAre(0, 8, 16, 24));
    EXPECT_EQ(last_ns, LAGTRAP_NEVER_NS);
    EXPECT_EQ(table.state(0), 2U) << "no run wants another visit";
    EXPECT_EQ(table.state(1), 0U);
}

TEST_F(RunTableTest, VisitsAgainWhenTheFirstOfABucketIsDue) {
    (void)open(0, 0, 10);
    (void)open(0, 6, 10);
    table.state(0) = unit_ns;
    EXPECT_THAT(visited(unit_ns, false, {{0, 8 * unit_ns}, {6, 3 * unit_ns}}).first,
                ElementsAre(0, 6));
    EXPECT_EQ(table.state(0), 3 * unit_ns);
    table.tag(index_of(0, 6)) = LAGTRAP_TAG_TAKEN;
    EXPECT_THAT(visited(3 * unit_ns, false, {{0, 8 * unit_ns}}).first, ElementsAre(0));
    EXPECT_EQ(table.state(0), unit_ns) << "at the next pass: the run may be begun again";
}

TEST_F(RunTableTest, DoesNotWaitForABucketWhoseRunsHaveEnded) {
    table.state(1) = 100 * unit_ns | 1;
    EXPECT_EQ(visited(5, false).second, LAGTRAP_NEVER_NS);
    EXPECT_EQ(table.state(1), 1U);
}

TEST_F(RunTableTest, ReadsARunWithItsOwnCountOfStages) {
    lagtrap_slot& slot = open(5, 1, 77);
    slot.run.begin_ns = 12;
    slot.stage_next = std::uint64_t{9} << LAGTRAP_OWNED_COUNT_SHIFT | 3;
    const auto run = table.read(index_of(5, 1), tag_in(5, 0));
    ASSERT_TRUE(run);
    EXPECT_EQ(run->begin_ns, 12U);
    EXPECT_EQ(run->stage_count, 3U);
    slot.stage_next = LAGTRAP_MAX_STAGES + 1;
    EXPECT_EQ(table.read(index_of(5, 1), tag_in(5, 0))->stage_count, LAGTRAP_MAX_STAGES);
    slot.run.flags = LAGTRAP_RUN_WITHOUT_STAGES;
    EXPECT_EQ(table.read(index_of(5, 1), tag_in(5, 0))->stage_count, 0U);
    EXPECT_FALSE(table.read(index_of(5, 1), tag_in(5, 1))) << "another run";
    slot.deadline_ns = 0;
    EXPECT_FALSE(table.read(index_of(5, 1), tag_in(5, 0))) << "it is ending";
}

TEST_F(RunTableTest, FreesTheRunThatIsMeantAndItsPlaceAmongTheSpilled) {
    (void)open(5, 1, 77);
    table.state(5) = 3 * unit_ns | 2;
    EXPECT_FALSE(table.free(index_of(5, 1), tag_in(5, 1)));
    EXPECT_EQ(table.tag(index_of(5, 1)), tag_in(5, 0));
    EXPECT_TRUE(table.free(index_of(5, 1), tag_in(5, 0)));
    EXPECT_EQ(table.tag(index_of(5, 1)), 0U);
    EXPECT_EQ(table.slot(index_of(5, 1)).deadline_ns, 0U);
    EXPECT_EQ(table.state(5), 3 * unit_ns | 2) << "it was in its first bucket";
    EXPECT_FALSE(table.free(index_of(5, 1), tag_in(5, 0)));
    table.tag(index_of(9, 0)) = tag_in(5, 9);
    EXPECT_TRUE(table.free(index_of(9, 0), tag_in(5, 9)));
    EXPECT_EQ(table.state(5), 3 * unit_ns | 1);
    EXPECT_EQ(table.state(9), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::run_table_test
