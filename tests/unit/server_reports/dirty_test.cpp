#include "server/reports/dirty.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::server::reports::dirty_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

std::vector<DirtyCandidate> runs_of(const std::vector<std::uint64_t>& durations) {
    std::vector<DirtyCandidate> runs;
    for (const std::uint64_t duration : durations)
        runs.push_back({"work", "b1", trace::StartKind::Warm, duration, 0});
    return runs;
}

TEST(Dirty, finds_what_differs_plainly_on_both_sides) {
    const auto verdicts = find_dirty_runs(runs_of(
        {10 * ms, 11 * ms, 9 * ms, 10 * ms, 12 * ms, 10 * ms, 9 * ms, 11 * ms, 500 * ms, 10'000}));
    for (std::size_t i = 0; i < 8; ++i) EXPECT_FALSE(verdicts[i].dirty()) << i;
    EXPECT_EQ(verdicts[8].rule, "duration");
    EXPECT_THAT(verdicts[8].reason,
                testing::HasSubstr("50.0 times as long as the median 10.0 ms of 10 runs"));
    EXPECT_THAT(verdicts[9].reason, testing::HasSubstr("1000.0 times as short"));
}

TEST(Dirty, groups_do_not_mix) {
    auto runs = runs_of(std::vector<std::uint64_t>(20, 0));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].duration_ns = (100 + i % 7) * ms;
        if (i % 2 == 0) continue;
        runs[i].start = trace::StartKind::Cold;
        runs[i].duration_ns *= 20;
    }
    for (const DirtyVerdict& verdict : find_dirty_runs(runs)) EXPECT_FALSE(verdict.dirty());
    for (DirtyCandidate& run : runs) run.start = trace::StartKind::Warm;
    runs.resize(18);
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i].build = i < 8 ? "b1" : "b2";
    runs[17].duration_ns = 60'000 * ms;
    EXPECT_FALSE(find_dirty_runs(runs)[0].dirty());
}

TEST(Dirty, small_groups_are_left_alone) {
    auto durations = std::vector<std::uint64_t>(6, 10 * ms);
    durations[1] = 11 * ms;
    durations[2] = 9 * ms;
    durations.push_back(9000 * ms);
    EXPECT_FALSE(find_dirty_runs(runs_of(durations))[6].dirty());
    durations.insert(durations.begin(), 12 * ms);
    EXPECT_TRUE(find_dirty_runs(runs_of(durations))[7].dirty());
}

TEST(Dirty, falls_back_to_quartiles_then_to_nothing) {
    // More than half are equal, so the MAD is 0, but the quartiles differ.
    std::vector<std::uint64_t> durations(12, 10 * ms);
    for (const std::uint64_t duration : {11, 11, 12, 12, 13}) durations.push_back(duration * ms);
    durations.push_back(900 * ms);
    EXPECT_EQ(find_dirty_runs(runs_of(durations)).back().rule, "duration");
    EXPECT_FALSE(find_dirty_runs(runs_of(durations))[12].dirty());
    durations.assign(20, 10 * ms);
    durations.push_back(900 * ms);
    EXPECT_FALSE(find_dirty_runs(runs_of(durations)).back().dirty());
}

TEST(Dirty, reasons_come_first_and_leave_the_statistics) {
    auto runs = runs_of({10 * ms, 11 * ms, 9 * ms, 10 * ms, 12 * ms, 10 * ms, 9 * ms, 11 * ms});
    for (int i = 0; i < 20; ++i)
        runs.push_back({"work", "b1", trace::StartKind::Warm, 5000 * ms, trace::DirtyAborted});
    runs[0].reasons = trace::DirtySuspended | trace::DirtyMissingStage;
    runs[1].reasons = trace::DirtyMissingStage;
    runs[2].reasons = trace::DirtyClockStepped;
    runs.push_back({"work", "b1", trace::StartKind::Warm, 5000 * ms, 0});
    for (const std::uint64_t duration : {10, 11, 9}) {
        runs.push_back({"work", "b1", trace::StartKind::Warm, duration * ms, 0});
    }
    const auto verdicts = find_dirty_runs(runs);
    EXPECT_EQ(verdicts[0].rule, "suspended");
    EXPECT_EQ(verdicts[1].rule, "missing-stage");
    EXPECT_EQ(verdicts[2].rule, "clock-stepped");
    EXPECT_EQ(verdicts[8].rule, "aborted");
    EXPECT_EQ(verdicts[28].rule, "duration");
    DirtyOptions by_reasons_alone;
    by_reasons_alone.limit = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(find_dirty_runs(runs, by_reasons_alone)[28].dirty());
}

TEST(Dirty, each_reason_has_a_rule_and_the_gravest_is_named) {
    const std::vector<std::tuple<std::uint32_t, std::string, std::string>> reasons{
        {trace::DirtySuspended, "suspended", "The machine was suspended while the run was open."},
        {trace::DirtyClockStepped, "clock-stepped",
         "The machine's clock was set while the run was open."},
        {trace::DirtyAborted, "aborted", "The thread ended before the run did."},
        {trace::DirtyFailed, "failed", "The operation failed."},
        {trace::DirtyCancelled, "cancelled", "The operation was cancelled."},
        {trace::DirtyMissingStage, "missing-stage", "A stage that the settings name never came."}};
    std::uint32_t lesser = 0;
    for (auto reason = reasons.rbegin(); reason != reasons.rend(); ++reason) {
        const auto& [flag, rule, sentence] = *reason;
        lesser |= flag;
        auto run = runs_of({ms});
        run[0].reasons = lesser;
        EXPECT_EQ(find_dirty_runs(run)[0].rule, rule);
        EXPECT_EQ(find_dirty_runs(run)[0].reason, sentence);
    }
}

// Log-normal runs of sigma 0.3, a tenth of them six times as long.
TEST(Dirty, rates_are_as_simulated) {
    std::mt19937_64 engine(7);
    std::normal_distribution<double> logs(std::log(1e7), 0.3);
    std::uint64_t clean = 0, clean_removed = 0, dirty = 0, dirty_found = 0;
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<std::uint64_t> durations;
        for (int i = 0; i < 30; ++i) {
            durations.push_back(
                static_cast<std::uint64_t>(std::exp(logs(engine)) * (i < 3 ? 6 : 1)));
        }
        const auto verdicts = find_dirty_runs(runs_of(durations));
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
            ++(i < 3 ? dirty : clean);
            if (verdicts[i].dirty()) ++(i < 3 ? dirty_found : clean_removed);
        }
    }
    EXPECT_LT(static_cast<double>(clean_removed), 0.01 * static_cast<double>(clean));
    EXPECT_GT(static_cast<double>(dirty_found), 0.85 * static_cast<double>(dirty));
}

}  // namespace
}  // namespace lagtrap::server::reports::dirty_test
