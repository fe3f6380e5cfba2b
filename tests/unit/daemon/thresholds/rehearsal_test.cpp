#include "daemon/thresholds/rehearsal.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "daemon/thresholds/rehearsal_text.hpp"
#include "settings/run_identity.hpp"

namespace lagtrap::daemon::rehearsal_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t hour = RunHistory::hour_ns, first_hour = 490'000;

settings::Event event_named(const std::string& name, std::chrono::nanoseconds threshold) {
    settings::Event event;
    event.name = name;
    event.begin.name = name;
    event.threshold = threshold;
    event.trace_length = 4s;
    return event;
}

// Every hour, each event has 1000 runs of about 1 ms, and this number of about 100 ms.
class Rehearsed : public testing::Test {
  protected:
    void add(const std::string& name, std::initializer_list<std::uint64_t> slow_by_hour) {
        EventRuns& runs = stored_[name];
        runs.identity = settings::run_identity(event_named(name, 1s));
        runs.since_ns = first_hour * hour;
        std::uint64_t number = first_hour;
        for (const std::uint64_t slow : slow_by_hour) {
            runs.hours.push_back({number++, {{lagtrap_histogram_bucket(1'000'000), 1000}}});
            if (slow != 0)
                runs.hours.back().buckets.push_back({lagtrap_histogram_bucket(100'000'000), slow});
        }
    }

    [[nodiscard]] Rehearsal play(const settings::Settings& settings) const {
        return rehearse(settings, RunHistory(stored_, (first_hour + 300) * hour));
    }

    std::map<std::string, EventRuns> stored_;
};

TEST_F(Rehearsed, CountsRunsOverTheThreshold) {
    add("a", {2, 0, 3});
    settings::Settings settings;
    settings.events = {event_named("a", 50ms), event_named("b", 50ms)};
    const Rehearsal result = play(settings);
    EXPECT_EQ(result.first_hour, first_hour);
    EXPECT_EQ(result.hours, 3U);
    EXPECT_TRUE(result.events[0].known);
    EXPECT_EQ(result.events[0].runs, 3005U);
    EXPECT_EQ(result.events[0].delays, 5U);
    EXPECT_EQ(result.events[0].recordings, 5U) << "they are minutes apart";
    EXPECT_EQ(result.recordings, 5U);
    EXPECT_FALSE(result.events[1].known);
    EXPECT_EQ(result.events[1].recordings, 0U);
    settings.events[0].threshold = 200ms;
    EXPECT_EQ(play(settings).recordings, 0U);
}

TEST_F(Rehearsed, ABucketIsSharedEvenly) {
    add("a", {1000});
    settings::Settings settings;
    const std::uint32_t bucket = lagtrap_histogram_bucket(100'000'000);
    const std::uint64_t middle_ns =
        (lagtrap_histogram_bucket_start_ns(bucket) + bucket_end_ns(bucket)) / 2;
    settings.events = {
        event_named("a", std::chrono::nanoseconds(static_cast<std::int64_t>(middle_ns)))};
    EXPECT_EQ(play(settings).events[0].delays, 500U);
}

TEST_F(Rehearsed, KeepsTheLimits) {
    add("a", {900, 900, 900});
    settings::Settings settings;
    settings.events = {event_named("a", 50ms)};
    EXPECT_EQ(play(settings).recordings, 3 * 12U) << "captures-per-hour";
    settings.recording.captures_per_hour = 1000;
    EXPECT_NEAR(static_cast<double>(play(settings).recordings), 3 * 3600 / 36, 3)
        << "recording, cool-down, next delay";
    settings.recording.cool_down = 10min;
    EXPECT_NEAR(static_cast<double>(play(settings).recordings), 3 * 3600 / 604, 2);
}

TEST_F(Rehearsed, ANoisyEventLeavesTheOthersTheirs) {
    add("noisy", {5000, 5000});
    add("quiet", {3, 0});
    settings::Settings settings;
    settings.events = {event_named("noisy", 50ms), event_named("quiet", 50ms)};
    const Rehearsal result = play(settings);
    EXPECT_EQ(result.events[1].delays, 3U);
    EXPECT_GE(result.events[1].recordings, 2U);
    EXPECT_LE(result.events[0].recordings, 2 * 6U) << "half of those of an hour";
}

TEST_F(Rehearsed, ThresholdsOfRunsAreLearnedAndLimited) {
    add("a", {0, 0, 5, 300, 300, 300, 300, 0, 0});
    settings::Settings settings;
    settings.events = {event_named("a", settings::max_threshold)};
    settings.events[0].threshold_rule = settings::ThresholdRule{990'000, 300, std::nullopt};
    const Rehearsal result = play(settings);
    EXPECT_LT(result.events[0].threshold_ns, 1'000'000'000U);
    EXPECT_GE(result.events[0].recordings, 5U) << "the first delays";
    EXPECT_LE(result.events[0].recordings, 12U) << "captures-per-day";
    settings.auto_threshold.min_runs = 1'000'000;
    const Rehearsal learning = play(settings);
    EXPECT_EQ(learning.recordings, 0U);
    EXPECT_THAT(rehearsal_text(learning, result), HasSubstr("learning"));
}

TEST_F(Rehearsed, OtherMarkersHaveNoHistory) {
    add("a", {5});
    settings::Settings settings;
    settings.events = {event_named("a", 50ms)};
    settings.events[0].end.name = "other";
    const Rehearsal result = play(settings);
    EXPECT_FALSE(result.events[0].known);
    EXPECT_EQ(result.recordings, 0U);
}

TEST_F(Rehearsed, IsShownNextToTheSettingsInUse) {
    add("a", {2, 0, 3});
    settings::Settings next, current;
    next.events = {event_named("a", 50ms), event_named("b", 50ms)};
    current.events = {event_named("a", 200ms)};
    const std::string text = rehearsal_text(play(next), play(current));
    EXPECT_EQ(text,
              "Runs of 3 hours, 2025-11-24 16:00 to 2025-11-24 19:00 UTC, as if the settings had "
              "been in force.\n"
              "Delays are assumed to be spread evenly over each hour.\n"
              "\n"
              "                  these settings                    settings in use\n"
              "event       runs  threshold    delays recordings    threshold    delays recordings\n"
              "a           3005    50.0 ms         5          5       200 ms         0          0\n"
              "b     no history    50.0 ms         ?          ?            -         -          -\n"
              "all                                            5                                 0\n"
              "\n"
              "Events without history are new, or their markers, key, nesting or scope changed.\n");
    const auto json = rehearsal_json(play(next), play(current));
    EXPECT_EQ(json.at("hours"), 3U);
    EXPECT_EQ(json.at("new").at("recordings"), 5U);
    EXPECT_EQ(json.at("new").at("events").at(1).at("known"), false);
    EXPECT_EQ(json.at("in_use").at("events").at(0).at("threshold_ns"), 200'000'000U);
    stored_.clear();
    EXPECT_THAT(rehearsal_text(play(next), play(current)), HasSubstr("There is no history yet"));
}

TEST(RehearsalText, OnlyAThresholdThatFollowsRunsIsLearned) {
    constexpr std::uint64_t most_ns = 3'600'000'000'000;
    Rehearsal next;
    next.first_hour = first_hour;
    next.hours = 1;
    next.recordings = 7;
    next.events = {{"fixed-at-an-hour", true, most_ns, false, 12, 1, 1},
                   {"learning", true, most_ns, true, 13, 2, 2},
                   {"learned", true, most_ns - 1, true, 14, 4, 3}};
    Rehearsal current;
    current.recordings = 8;
    current.events = {{"other", true, 1, false, 1, 1, 1},
                      {"learned", false, most_ns, true, 0, 0, 0},
                      {"fixed-at-an-hour", true, 2'000'000, false, 12, 10, 9}};
    const std::string text = rehearsal_text(next, current);
    EXPECT_EQ(text.substr(text.find("event ")),
              "event                  runs  threshold    delays recordings    threshold    "
              "delays recordings\n"
              "fixed-at-an-hour         12     3600 s         1          1      2.00 ms    "
              "    10          9\n"
              "learning                 13   learning         2          2            -    "
              "     -          -\n"
              "learned                  14     3600 s         4          3     learning    "
              "     ?          ?\n"
              "all                                                       7                 "
              "                8\n")
        << "every event has history";
    const auto json = rehearsal_json(next, current);
    EXPECT_EQ(json.at("first_hour_realtime_ns"), first_hour * hour);
    const auto& events = json.at("new").at("events").as_array();
    EXPECT_EQ(events.at(0).at("learning"), false);
    EXPECT_EQ(events.at(1).at("learning"), true);
    EXPECT_EQ(events.at(2).at("learning"), false);
    EXPECT_EQ(json.at("in_use").at("recordings"), 8U);
    EXPECT_EQ(json.at("in_use").at("events").as_array().size(), 3U) << "also those that end";
}

}  // namespace
}  // namespace lagtrap::daemon::rehearsal_test
