#include "daemon/capture/capture_limits.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::capture_limits_test {
namespace {

using namespace std::chrono_literals;

SeenParties seen(std::initializer_list<Party> parties) {
    SeenParties all;
    for (const Party party : parties) all.add(party);
    return all;
}

const SeenParties users_7_and_9 = seen({7, 9});

class CaptureLimitsTest : public ::testing::Test {
  protected:
    void SetUp() override { limits_.allow(5, 0s, {"work"}); }
    void begin(int count, std::optional<std::uint32_t> uid) {
        for (int i = 0; i < count; ++i) limits_.begin("work", uid, {}, now_ += 1min);
        limits_.end("work", {}, now_);
    }

    CaptureLimits limits_;
    CaptureLimits::Clock::time_point now_{100h};
};

TEST_F(CaptureLimitsTest, AUserHasHalfOfThemRoundedUp) {
    begin(2, 9);
    EXPECT_TRUE(limits_.used_up(users_7_and_9, now_).empty());
    begin(1, 9);
    const auto used_up = limits_.used_up(users_7_and_9, now_);
    ASSERT_EQ(used_up.size(), 1U);
    EXPECT_EQ(used_up.at(9), CaptureLimits::Clock::time_point{101h + 1min})
        << "when the first of the three is an hour old";
    EXPECT_TRUE(limits_.used_up(users_7_and_9, used_up.at(9)).empty());
}

TEST_F(CaptureLimitsTest, WhoIsAloneHasAll) {
    begin(4, 9);
    EXPECT_TRUE(limits_.used_up(seen({9}), now_).empty());
    EXPECT_TRUE(limits_.closed({}, now_).empty());
    begin(1, 9);
    EXPECT_EQ(limits_.closed({}, now_).at("work").until,
              CaptureLimits::Clock::time_point{101h + 1min});
}

TEST_F(CaptureLimitsTest, WithoutAPartyItIsNobodysShare) {
    begin(4, std::nullopt);
    begin(1, 9);
    EXPECT_TRUE(limits_.used_up(users_7_and_9, now_).empty());
    EXPECT_EQ(limits_.closed({}, now_).at("work").reason, CaptureLimits::Reason::HourlyLimit);
}

TEST_F(CaptureLimitsTest, ARecordingByHandTakesNothing) {
    limits_.allow(2, 1h, {"work", "other"});
    for (int i = 0; i < 10; ++i) {
        limits_.begin(std::nullopt, std::nullopt, {}, now_ += 1s);
        limits_.end(std::nullopt, {{"work", 1}}, now_);
        EXPECT_TRUE(limits_.closed({{"work", 1}}, now_).empty()) << "even with a delay in it";
    }
    limits_.begin("work", 9, {{"work", 1}}, now_);
    limits_.end("work", {{"work", 1}}, now_);
    const auto cool_until = now_ + 1h;
    limits_.begin(std::nullopt, std::nullopt, {{"work", 1}}, now_ += 1s);
    limits_.end(std::nullopt, {{"work", 2}}, now_ += 1min);
    const auto closed = limits_.closed({{"work", 2}}, now_);
    EXPECT_EQ(closed.size(), 1U);
    EXPECT_EQ(closed.at("work").until, cool_until) << "a running cool-down goes on as before";
}

TEST_F(CaptureLimitsTest, ALowerLimitCountsWhatWasBegunBefore) {
    begin(5, 9);
    limits_.allow(2, 0s, {"work"});
    EXPECT_EQ(limits_.closed({}, now_).at("work").until,
              CaptureLimits::Clock::time_point{101h + 4min})
        << "then one of two is left";
    EXPECT_EQ(limits_.used_up(users_7_and_9, now_).at(9),
              CaptureLimits::Clock::time_point{101h + 5min});
}

TEST_F(CaptureLimitsTest, NobodyStandsInForAnotherBy64) {
    begin(3, 9 + 64);
    EXPECT_TRUE(limits_.used_up(seen({9 + 64}), now_).empty());
    EXPECT_EQ(limits_.used_up(seen({9, 9 + 64}), now_).count(9 + 64), 1U)
        << "user 9 is another one";
}

TEST_F(CaptureLimitsTest, ARecordingByHandThatIsKeptForADelayCounts) {
    limits_.allow(1, 1h, {"work"});
    limits_.begin(std::nullopt, std::nullopt, {{"work", 1}}, now_);
    EXPECT_TRUE(limits_.delayed({{"work", 1}}).empty());
    EXPECT_EQ(limits_.delayed({{"work", 2}}), std::set<std::string>{"work"});
    limits_.adopt("work", now_);
    limits_.end("work", {{"work", 2}}, now_ += 1min);
    EXPECT_EQ(limits_.closed({{"work", 2}}, now_).at("work").until, now_ + 1h);
    EXPECT_EQ(limits_.closed({{"work", 2}}, now_ + 59min).size(), 1U)
        << "it was the recording of the hour";
    EXPECT_TRUE(limits_.delayed({{"work", 3}}).empty()) << "nothing is recorded";
}

// A day of random delays of five events, the first ten times as often as the others. Recordings
// take two seconds. Nothing but the limits decides.
class RandomDay : public ::testing::TestWithParam<std::uint32_t> {
  protected:
    using Clock = CaptureLimits::Clock;
    static constexpr std::uint32_t per_hour = 12;
    static constexpr auto rest = 30s;
    static constexpr std::array names{"noisy", "a", "b", "c", "d"};

    struct Recorded {
        std::string event;
        Clock::time_point at;
    };
    void record(const std::string& event) {
        recorded_.push_back({event, now_});
        limits_.begin(event, std::nullopt, delays_, now_);
        ++delays_[event];
        if (chance(4)) ++delays_[names[chance(5)]];  // another delay in the recording
        now_ += 2s;
        limits_.end(event, delays_, now_);
    }
    [[nodiscard]] std::uint32_t chance(std::uint32_t below) {
        return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random_);
    }
    [[nodiscard]] std::size_t in_the_hour(const std::string& event = {}) const {
        return static_cast<std::size_t>(
            std::count_if(recorded_.begin(), recorded_.end(), [&](const Recorded& one) {
                return now_ - one.at < 1h && (event.empty() || one.event == event);
            }));
    }

    std::mt19937 random_{GetParam()};
    CaptureLimits limits_;
    CaptureLimits::Delays delays_;
    Clock::time_point now_{100h};
    std::vector<Recorded> recorded_;
};

TEST_P(RandomDay, ANoisyEventLeavesTheOthersTheirs) {
    limits_.allow(per_hour, rest, {names.begin(), names.end()});
    std::uint64_t skipped = 0;
    while (now_ < Clock::time_point{124h}) {
        now_ += std::chrono::seconds(chance(60));
        const std::string event = chance(14) < 10 ? "noisy" : names[1 + chance(4)];
        const auto closed = limits_.closed(delays_, now_);
        if (!closed.contains(event)) {
            record(event);
        } else {
            EXPECT_GT(closed.at(event).until, now_);
            ++delays_[event];
            ++skipped;
        }
        ASSERT_LE(in_the_hour(), per_hour);
        ASSERT_LE(in_the_hour("noisy"), per_hour / 2);
        for (const char* const name : names) {
            const auto now_closed = limits_.closed(delays_, now_);
            if (in_the_hour(name) != 0 || !now_closed.contains(name)) continue;
            ASSERT_EQ(now_closed.at(name).reason, CaptureLimits::Reason::CoolDown)
                << name << " had none this hour";
        }
    }
    const auto counted = limits_.skipped(delays_);
    EXPECT_EQ(counted.cool_down + counted.hourly_limit + counted.event_share, skipped)
        << "each is recorded or counted";
    EXPECT_GT(in_the_hour(), 6U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDay, ::testing::Range(1U, 11U));

TEST_F(CaptureLimitsTest, NothingIsKeptForEventsThatHadTheirs) {
    limits_.allow(6, 0s, {"a", "b", "c"});
    for (const char* const event : {"a", "b", "a"})
        limits_.begin(event, std::nullopt, {}, now_ += 1min);
    EXPECT_TRUE(limits_.closed({}, now_).empty());
    limits_.begin("c", std::nullopt, {}, now_ += 1min);
    EXPECT_TRUE(limits_.closed({}, now_).empty()) << "the last two are for whoever comes first";
}

TEST_F(CaptureLimitsTest, AnEventRestsAlone) {
    limits_.allow(100, 30s, {"slow", "quiet"});
    limits_.begin("slow", std::nullopt, {}, now_);
    limits_.end("slow", {{"slow", 1}}, now_ += 2s);
    const auto closed = limits_.closed({{"slow", 1}}, now_);
    ASSERT_EQ(closed.size(), 1U);
    EXPECT_EQ(closed.at("slow").until, now_ + 30s);
    EXPECT_EQ(closed.at("slow").reason, CaptureLimits::Reason::CoolDown);
    EXPECT_EQ(limits_.skipped({{"slow", 4}, {"quiet", 7}}).cool_down, 3U);
    EXPECT_TRUE(limits_.closed({{"slow", 4}}, now_ + 30s).empty());
}

TEST_F(CaptureLimitsTest, WhatTheRecordingHasRestsToo) {
    limits_.allow(100, 30s, {"slow", "other", "quiet"});
    limits_.begin("slow", std::nullopt, {{"other", 5}, {"quiet", 2}}, now_);
    limits_.end("slow", {{"slow", 1}, {"other", 6}, {"quiet", 2}}, now_);
    const auto closed = limits_.closed({}, now_);
    EXPECT_TRUE(closed.contains("other"));
    EXPECT_FALSE(closed.contains("quiet"));
}

TEST_F(CaptureLimitsTest, DelaysInARecordingAreNotSkipped) {
    limits_.allow(100, 30s, {"slow", "other"});
    limits_.begin("slow", std::nullopt, {}, now_);
    limits_.end("slow", {{"slow", 1}}, now_);
    EXPECT_TRUE(limits_.closed({{"slow", 1}}, now_).contains("slow"));
    limits_.begin("other", std::nullopt, {{"slow", 3}}, now_ += 10s);
    EXPECT_TRUE(limits_.closed({{"slow", 3}}, now_).contains("slow"))
        << "nothing opens it meanwhile";
    limits_.end("other", {{"slow", 8}, {"other", 1}}, now_ += 2s);
    EXPECT_EQ(limits_.closed({{"slow", 8}}, now_).at("slow").until, now_ + 30s)
        << "it is in that recording";
    EXPECT_EQ(limits_.skipped({{"slow", 9}}).cool_down, 2U + 1U);
}

TEST_F(CaptureLimitsTest, AnEventIsHeld) {
    limits_.allow(100, 0s, {"slow", "other"});
    limits_.hold({{"slow", now_ + 2h}});
    const auto closed = limits_.closed({{"slow", 1}}, now_);
    ASSERT_EQ(closed.size(), 1U);
    EXPECT_EQ(closed.at("slow").until, now_ + 2h);
    EXPECT_EQ(closed.at("slow").reason, CaptureLimits::Reason::DailyLimit);
    EXPECT_EQ(limits_.skipped({{"slow", 4}, {"other", 7}}).daily_limit, 3U);
    EXPECT_TRUE(limits_.closed({{"slow", 4}}, now_ + 2h).empty());
    limits_.hold({});
    EXPECT_TRUE(limits_.closed({{"slow", 4}}, now_).empty());
}

TEST_F(CaptureLimitsTest, MoreEventsThanRecordingsHaveNoneKept) {
    limits_.allow(2, 0s, {"a", "b", "c"});
    limits_.begin("a", std::nullopt, {}, now_);
    limits_.end("a", {}, now_);
    EXPECT_EQ(limits_.closed({}, now_).at("a").reason, CaptureLimits::Reason::EventShare);
    EXPECT_FALSE(limits_.closed({}, now_).contains("b"));
}

TEST_F(CaptureLimitsTest, QuestionsWithoutAnAnswerCloseAllEvents) {
    limits_.allow(100, 0s, {"slow", "other"});
    limits_.hold_all(now_ + 1h);
    limits_.hold({{"slow", now_ + 2h}});
    const auto closed = limits_.closed({}, now_);
    ASSERT_EQ(closed.size(), 2U);
    EXPECT_EQ(closed.at("slow").reason, CaptureLimits::Reason::DailyLimit) << "the later one";
    EXPECT_EQ(closed.at("slow").until, now_ + 2h);
    EXPECT_EQ(closed.at("other").reason, CaptureLimits::Reason::Questions);
    EXPECT_EQ(closed.at("other").until, now_ + 1h);
    const auto skipped = limits_.skipped({{"slow", 3}, {"other", 5}});
    EXPECT_EQ(skipped.daily_limit, 3U);
    EXPECT_EQ(skipped.questions, 5U);
    EXPECT_EQ(limits_.closed({}, now_ + 1h).size(), 1U);
    limits_.hold({});
    EXPECT_EQ(limits_.closed({}, now_).size(), 2U);
    limits_.hold_all(std::nullopt);
    EXPECT_TRUE(limits_.closed({}, now_).empty());
}

TEST_F(CaptureLimitsTest, SkippedDelaysAreCountedByTheirReason) {
    limits_.allow(2, 0s, {"a", "b"});
    limits_.begin("a", std::nullopt, {}, now_);
    limits_.end("a", {}, now_);
    EXPECT_EQ(limits_.closed({}, now_).at("a").reason, CaptureLimits::Reason::EventShare);
    auto skipped = limits_.skipped({{"a", 4}, {"b", 9}});
    EXPECT_EQ(skipped.event_share, 4U);
    EXPECT_EQ(skipped.hourly_limit, 0U);
    limits_.begin("b", std::nullopt, {{"a", 4}}, now_);
    limits_.end("b", {{"a", 4}}, now_);
    EXPECT_EQ(limits_.closed({{"a", 4}}, now_).at("b").reason, CaptureLimits::Reason::HourlyLimit);
    skipped = limits_.skipped({{"a", 5}, {"b", 2}});
    EXPECT_EQ(skipped.event_share, 4U);
    EXPECT_EQ(skipped.hourly_limit, 3U);
    EXPECT_EQ(skipped.cool_down + skipped.daily_limit + skipped.questions, 0U);
    EXPECT_TRUE(limits_.closed({{"a", 4}}, now_ + 1h).empty());
}

TEST_F(CaptureLimitsTest, AnEventThatIsRemovedSkipsNothing) {
    limits_.allow(1, 0s, {"a", "b"});
    limits_.begin("a", std::nullopt, {}, now_);
    limits_.end("a", {}, now_);
    EXPECT_EQ(limits_.closed({}, now_).size(), 2U);
    limits_.allow(1, 0s, {"a"});
    EXPECT_EQ(limits_.skipped({{"a", 2}, {"b", 5}}).hourly_limit, 2U);
    EXPECT_EQ(limits_.closed({{"a", 2}}, now_).size(), 1U);
    EXPECT_EQ(limits_.skipped({{"a", 1}}).hourly_limit, 2U) << "counting may begin anew";
}

}  // namespace
}  // namespace lagtrap::daemon::capture_limits_test
