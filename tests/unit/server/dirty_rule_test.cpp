#include "server/ingest/dirty_rule.hpp"

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::dirty_rule_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t begin_ns = 1'790'000'000ULL * 1'000'000'000ULL;

class DirtyRule : public StoreFixture {
  protected:
    void add(std::uint64_t first, const std::vector<std::uint64_t>& durations_ns) {
        trace::RunBatch batch;
        batch.host = "alpha";
        for (std::size_t i = 0; i < durations_ns.size(); ++i) {
            trace::RecordedRun run;
            run.event = "open file";
            run.begin_realtime_ns = begin_ns + (first + i) * 1000 * ms;
            run.duration_ns = durations_ns[i];
            run.build_id = "b1";
            batch.runs.push_back(run);
        }
        Receipt receipt{std::string(63, 'a') + static_cast<char>('0' + first / 10), 1, begin_ns,
                        ""};
        ASSERT_TRUE(store_->batches().add_batch(receipt, batch).ok());
    }
    Filter filter() {
        Filter filter;
        filter.event = "open file";
        return filter;
    }
    RunPage runs() {
        return store_->everything()
            .runs()
            .list(filter(), RunOrder::Slowest, 1000, std::nullopt)
            .value();
    }
};

TEST_F(DirtyRule, slow_runs_are_marked_and_stay_shown) {
    std::vector<std::uint64_t> durations;
    for (std::uint64_t i = 0; i < 40; ++i) durations.push_back(10 * ms + i * ms / 10);
    durations.push_back(900 * ms);
    add(0, durations);
    EXPECT_EQ(mark_dirty_runs(store_->everything(), "open file", 1).value(), 1U);
    const RunPage page = runs();
    ASSERT_EQ(page.runs.size(), 41U);
    EXPECT_EQ(page.runs[0].duration_ns, 900 * ms);
    EXPECT_FALSE(page.runs[0].dirty);
    ASSERT_TRUE(page.runs[0].outlier);
    EXPECT_EQ(page.runs[0].outlier->rule, "duration");
    EXPECT_FALSE(page.runs[1].outlier);
    EXPECT_EQ(store_->everything().summaries().count_runs(filter()).value().hidden, 0U);
    // Once many are as slow, it no longer differs.
    EXPECT_EQ(mark_dirty_runs(store_->everything(), "open file", 2).value(), 0U);
    add(50, std::vector<std::uint64_t>(100, 850 * ms));
    static_cast<void>(mark_dirty_runs(store_->everything(), "open file", 3).value());
    EXPECT_FALSE(store_->everything().runs().find_runs({page.runs[0].id}).value().at(0).outlier);
}

TEST_F(DirtyRule, what_a_person_decided_stays) {
    std::vector<std::uint64_t> durations(40, 10 * ms);
    for (std::uint64_t i = 0; i < 40; ++i) durations[i] += i * ms / 10;
    durations.push_back(900 * ms);
    add(0, durations);
    const std::uint64_t slow = runs().runs.at(0).id;
    ASSERT_TRUE(store_->everything()
                    .marks()
                    .mark_dirty({{slow, false, rule_by_hand, "it is right", "ann", 1}})
                    .ok());
    EXPECT_EQ(mark_dirty_runs(store_->everything(), "open file", 2).value(), 0U);
    EXPECT_FALSE(runs().runs.at(0).outlier);
}

}  // namespace
}  // namespace lagtrap::server::dirty_rule_test
