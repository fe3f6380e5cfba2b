#include "daemon/thresholds/threshold_policy.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "daemon/thresholds/history_file.hpp"

namespace lagtrap::daemon::threshold_policy_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t hour = RunHistory::hour_ns, day = 24 * hour;
constexpr std::uint64_t start = 20'000 * day;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t longest = 3'600'000 * ms;

RunHistogram runs_of(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> counts_by_ns) {
    RunHistogram runs{};
    for (const auto& [duration_ns, count] : counts_by_ns)
        runs[lagtrap_histogram_bucket(duration_ns)] += count;
    return runs;
}

std::uint64_t end_of(std::uint64_t duration_ns) {
    return bucket_end_ns(lagtrap_histogram_bucket(duration_ns));
}

EventRuns watched_for(std::uint64_t length_ns, const RunHistogram& runs) {
    EventRuns event{"1", start - length_ns, {}};
    HourOfRuns one{start / hour - 1, {}};
    for (std::uint32_t bucket = 0; bucket < runs.size(); ++bucket)
        if (runs[bucket] != 0) one.buckets.push_back({bucket, runs[bucket]});
    event.hours.push_back(std::move(one));
    return event;
}

ThresholdDecision decide(const settings::ThresholdRule& rule, const EventRuns& runs,
                         const settings::AutoThreshold& limits = {}) {
    ThresholdState state;
    return ThresholdPolicy(rule, limits).decide(state, runs, {}, start);
}

TEST(ThresholdPolicy, LearnsFirst) {
    const auto few = decide({}, watched_for(2 * day, runs_of({{ms, 99}})));
    EXPECT_EQ(few.reason, ThresholdReason::Learning);
    EXPECT_EQ(few.threshold_ns, longest);
    EXPECT_EQ(few.runs, 99U);
    const auto early = decide({}, watched_for(hour - 1, runs_of({{ms, 1'000'000}})));
    EXPECT_EQ(early.reason, ThresholdReason::Learning);
    EXPECT_EQ(early.threshold_ns, longest);
}

TEST(ThresholdPolicy, IsThePercentileTimesTheFactor) {
    const auto runs = watched_for(7 * day, runs_of({{2 * ms, 9'990}, {10 * ms, 10}}));
    const auto decision = decide({}, runs);
    EXPECT_EQ(decision.reason, ThresholdReason::Percentile);
    EXPECT_EQ(decision.percentile_ns, end_of(2 * ms));
    EXPECT_EQ(decision.threshold_ns, 3 * end_of(2 * ms));
    EXPECT_EQ(decision.base_ns, decision.threshold_ns);
    EXPECT_EQ(decide({999'990, 150, std::nullopt}, runs).threshold_ns, end_of(10 * ms) * 3 / 2);
    EXPECT_EQ(decide({500'000, 1'000, std::nullopt}, runs).threshold_ns, 10 * end_of(2 * ms));
}

TEST(ThresholdPolicy, WithFewRunsThePercentileIsTheLongest) {
    EXPECT_EQ(decide({}, watched_for(day, runs_of({{2 * ms, 150}, {30 * ms, 1}}))).threshold_ns,
              3 * end_of(30 * ms));
}

TEST(ThresholdPolicy, IsExceededRarely) {
    const auto decision =
        decide({990'000, 100, std::nullopt},
               watched_for(2 * day, runs_of({{2 * ms, 100'000}, {50 * ms, 500}, {400 * ms, 20}})));
    EXPECT_EQ(decision.reason, ThresholdReason::CaptureRate);
    EXPECT_EQ(decision.threshold_ns, end_of(50 * ms)) << "20 in 2 days are less than 12 a day";
    const auto hours =
        decide({990'000, 100, std::nullopt},
               watched_for(2 * hour, runs_of({{2 * ms, 100'000}, {50 * ms, 500}, {400 * ms, 20}})));
    EXPECT_EQ(hours.threshold_ns, end_of(400 * ms)) << "the other hours of the day count as quiet";
}

TEST(ThresholdPolicy, HasAFloorAndALimit) {
    const auto fast = watched_for(day, runs_of({{10'000, 10'000}}));
    EXPECT_EQ(decide({}, fast).threshold_ns, ms);
    EXPECT_EQ(decide({}, fast).reason, ThresholdReason::Floor);
    EXPECT_EQ(decide({999'000, 300, 7ms}, fast).threshold_ns, 7 * ms);
    const auto slow = decide({}, watched_for(day, runs_of({{longest, 200}})));
    EXPECT_EQ(slow.threshold_ns, longest);
    EXPECT_EQ(slow.reason, ThresholdReason::Longest);
}

TEST(ThresholdPolicy, MovesOnceAnHourByAFactorOf2) {
    const ThresholdPolicy policy({}, {});
    ThresholdState state;
    const auto fast = watched_for(day, runs_of({{2 * ms, 10'000}}));
    const std::uint64_t first_ns = policy.decide(state, fast, {}, start).threshold_ns;
    const auto slow = watched_for(day, runs_of({{200 * ms, 10'000}}));
    EXPECT_EQ(policy.decide(state, slow, {}, start + hour - 1).threshold_ns, first_ns);
    const auto second = policy.decide(state, slow, {}, start + hour);
    EXPECT_EQ(second.threshold_ns, 2 * first_ns);
    EXPECT_EQ(second.reason, ThresholdReason::Step);
    EXPECT_EQ(second.target_ns, 3 * end_of(200 * ms));
    EXPECT_EQ(policy.decide(state, fast, {}, start + 2 * hour).threshold_ns, first_ns);
    const ThresholdPolicy other({990'000, 100, std::nullopt}, {});
    EXPECT_EQ(other.decide(state, slow, {}, start + 2 * hour).threshold_ns, end_of(200 * ms))
        << "another rule";
}

TEST(ThresholdPolicy, KeepsItsThresholdWithoutNewRuns) {
    const ThresholdPolicy policy({}, {});
    ThresholdState state;
    const std::uint64_t first_ns =
        policy.decide(state, watched_for(day, runs_of({{2 * ms, 10'000}})), {}, start).threshold_ns;
    const auto later = policy.decide(state, {"1", start - day, {}}, {}, start + 10 * day);
    EXPECT_EQ(later.threshold_ns, first_ns);
}

TEST(ThresholdPolicy, DelaysRaiseItWhenHalfOfTheCapturesAreUsed) {
    const ThresholdPolicy policy({}, {});
    ThresholdState state;
    const auto runs = watched_for(7 * day, runs_of({{2 * ms, 10'000}}));
    const std::uint64_t base_ns = policy.decide(state, runs, {}, start).threshold_ns;
    const auto delay = runs_of({{20 * ms, 1}});
    EXPECT_EQ(policy.decide(state, runs, delay, start).threshold_ns, base_ns);
    for (int i = 0; i < 6; ++i) ThresholdPolicy::note_capture(state, start);
    const auto raised = policy.decide(state, runs, delay, start + 1);
    EXPECT_EQ(raised.threshold_ns, 2 * base_ns) << "at most by a factor of 2";
    EXPECT_EQ(raised.reason, ThresholdReason::Raised);
    EXPECT_EQ(policy.decide(state, runs, delay, start + 2).threshold_ns, end_of(20 * ms))
        << "to the longest run";
    EXPECT_EQ(policy.decide(state, runs, delay, start + 3).threshold_ns, end_of(20 * ms));
    EXPECT_EQ(policy.decide(state, runs, {}, start + 2 + 6 * hour - 1).threshold_ns,
              end_of(20 * ms));
    EXPECT_EQ(policy.decide(state, runs, {}, start + 2 + 6 * hour).threshold_ns,
              end_of(20 * ms) / 2);
    EXPECT_EQ(policy.decide(state, runs, {}, start + 2 + 30 * hour).threshold_ns, base_ns);
}

TEST(ThresholdPolicy, ClosesAfterTheCapturesOfADay) {
    settings::AutoThreshold limits;
    limits.captures_per_day = 2;
    const ThresholdPolicy policy({}, limits);
    ThresholdState state;
    const auto runs = watched_for(7 * day, runs_of({{2 * ms, 10'000}}));
    ThresholdPolicy::note_capture(state, start);
    EXPECT_EQ(policy.decide(state, runs, {}, start).closed_until_ns, std::nullopt);
    ThresholdPolicy::note_capture(state, start + hour);
    EXPECT_EQ(policy.decide(state, runs, {}, start + hour).closed_until_ns, start + day);
    const auto next = policy.decide(state, runs, {}, start + day);
    EXPECT_EQ(next.closed_until_ns, std::nullopt);
    EXPECT_EQ(next.captures, 1U);
}

// Days of a machine whose runs change their speed at random, and a daemon that is restarted. Every
// five minutes some runs end; each delay begins a recording, if it may.
class RandomDays {
  public:
    explicit RandomDays(unsigned seed) : random_(seed) {
        limits_.captures_per_day = static_cast<std::uint32_t>(number(1, 8));
        limits_.quiet = std::chrono::hours(number(1, 12));
        rule_.percentile_ppm = static_cast<std::uint32_t>(number(500'000, 999'990));
        rule_.factor_hundredths = static_cast<std::uint32_t>(number(100, 1'000));
    }

    void run(int days) {
        for (int minute = 0; minute < days * 24 * 60; minute += 5) {
            if (number(0, 100) == 0) typical_ns_ = std::exp2(static_cast<double>(number(14, 34)));
            now_ns_ += 300'000 * ms;
            step();
            if (number(0, 100) == 0) restart();
        }
        EXPECT_GT(decisions_with_threshold_, 0);
    }

  private:
    std::uint64_t number(std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
    }

    RunHistogram some_runs() {
        RunHistogram runs{};
        std::lognormal_distribution<double> spread(0, 0.7);
        for (std::uint64_t i = number(0, 30); i > 0; --i)
            ++runs[lagtrap_histogram_bucket(
                static_cast<std::uint64_t>(typical_ns_ * spread(random_)))];
        return runs;
    }

    void step() {
        const RunHistogram ended = some_runs();
        for (std::size_t i = 0; i < ended.size(); ++i) totals_[i] += ended[i];
        for (std::size_t bucket = 0; bucket < ended.size(); ++bucket)
            if (ended[bucket] != 0 && lagtrap_histogram_bucket_start_ns(
                                          static_cast<std::uint32_t>(bucket)) > threshold_ns_)
                delay();
        const RunHistogram added = history_.note("a", "1", totals_, now_ns_);
        history_.forget_old(now_ns_);
        const ThresholdPolicy policy(rule_, limits_);
        const ThresholdDecision decision = policy.decide(state_, *history_.of("a"), added, now_ns_);
        check(decision);
        threshold_ns_ = decision.threshold_ns;
        closed_until_ns_ = decision.closed_until_ns.value_or(0);
    }

    void delay() {
        if (now_ns_ < closed_until_ns_) return;
        ThresholdPolicy::note_capture(state_, now_ns_);
        captures_ns_.push_back(now_ns_);
        closed_until_ns_ = ThresholdPolicy(rule_, limits_)
                               .decide(state_, *history_.of("a"), {}, now_ns_)
                               .closed_until_ns.value_or(0);
    }

    void check(const ThresholdDecision& decision) {
        const std::size_t limit = limits_.captures_per_day;
        if (captures_ns_.size() > limit) {
            EXPECT_GE(captures_ns_.back() - captures_ns_[captures_ns_.size() - limit - 1], day);
        }
        EXPECT_GE(decision.threshold_ns, static_cast<std::uint64_t>(limits_.floor.count()));
        EXPECT_LE(decision.threshold_ns, longest);
        if (decision.reason == ThresholdReason::Learning) return;
        ++decisions_with_threshold_;
        if (threshold_ns_ != longest || was_known_) {
            EXPECT_LE(decision.threshold_ns, 4 * threshold_ns_)
                << "one step of the base, and one for a delay";
        }
        if (base_ns_ != 0) {
            EXPECT_LE(decision.base_ns, 2 * base_ns_);
            EXPECT_GE(decision.base_ns, base_ns_ / 2);
        }
        was_known_ = true;
        base_ns_ = decision.base_ns;
    }

    // What is stored gives the same decisions as what was in memory.
    void restart() {
        const auto stored = parse_history(history_text(history_.events(), {{"a", state_}}));
        ASSERT_TRUE(stored) << stored.error().message;
        EXPECT_EQ(stored->thresholds.at("a"), state_);
        EXPECT_EQ(stored->runs.at("a"), *history_.of("a"));
        history_ = RunHistory(stored->runs, now_ns_);
        state_ = stored->thresholds.at("a");
        totals_ = {};
    }

    std::mt19937 random_;
    settings::AutoThreshold limits_;
    settings::ThresholdRule rule_;
    double typical_ns_ = 5e6;
    std::uint64_t now_ns_ = start;
    RunHistogram totals_{};
    RunHistory history_;
    ThresholdState state_;
    std::uint64_t threshold_ns_ = longest, closed_until_ns_ = 0, base_ns_ = 0;
    bool was_known_ = false;
    std::vector<std::uint64_t> captures_ns_;
    int decisions_with_threshold_ = 0;
};

TEST(ThresholdPolicy, HoldsItsPromisesOnRandomDays) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        RandomDays(seed).run(4);
        if (testing::Test::HasFailure()) break;
    }
}

}  // namespace
}  // namespace lagtrap::daemon::threshold_policy_test
