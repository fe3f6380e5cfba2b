#include "uploader/schedule.hpp"

#include <random>

#include <gtest/gtest.h>

namespace lagtrap::uploader::schedule_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const TimePoint start{hours(10)};
const std::vector<std::string> both{"a", "b"};

TEST(Schedule, TakesTheFirst) {
    Schedule schedule;
    EXPECT_EQ(schedule.choose(both, start).name, "a");
    const auto nothing = schedule.choose({}, start);
    EXPECT_FALSE(nothing.name.has_value());
    EXPECT_FALSE(nothing.wake.has_value());
}

TEST(Schedule, OneBundlesTroubleDoesNotHoldTheOthers) {
    Schedule schedule;
    schedule.note_failure("a", 500, {}, start, 0.5);
    EXPECT_EQ(schedule.choose(both, start).name, "b");
    EXPECT_EQ(schedule.choose({"a"}, start).wake, start + std::chrono::milliseconds(500));
    EXPECT_EQ(schedule.choose(both, start + seconds(1)).name, "b") << "the one that failed least";
    EXPECT_EQ(schedule.choose({"a"}, start + seconds(1)).name, "a");
}

TEST(Schedule, WakesForTheFirstThatIsDue) {
    Schedule schedule;
    schedule.note_failure("a", 500, {}, start, 0.5);
    for (int i = 0; i < 2; ++i) schedule.note_failure("b", 500, {}, start, 0.5);
    EXPECT_EQ(schedule.choose({"a", "b"}, start).wake, start + std::chrono::milliseconds(500));
    EXPECT_EQ(schedule.choose({"b", "a"}, start).wake, start + std::chrono::milliseconds(500));
    EXPECT_EQ(schedule.choose({"b"}, start).wake, start + seconds(1));
}

TEST(Schedule, TheServersTroubleHoldsAll) {
    Schedule schedule;
    schedule.note_failure("a", 429, seconds(120), start, 0.5);
    const auto choice = schedule.choose(both, start + seconds(119));
    EXPECT_FALSE(choice.name.has_value());
    EXPECT_EQ(choice.wake, start + seconds(120));
    EXPECT_TRUE(schedule.choose(both, start + seconds(120)).name.has_value());
}

TEST(Schedule, SaysHowLongNothingIsTried) {
    Schedule schedule;
    EXPECT_EQ(schedule.note_failure("a", 500, {}, start, 0.5), std::chrono::milliseconds(500));
    EXPECT_EQ(schedule.note_failure("a", 500, {}, start, 0.5), seconds(1));
    EXPECT_EQ(schedule.note_failure("b", 503, seconds(60), start, 0.5), seconds(60));
}

TEST(Schedule, OneAtWhichTheConnectionBreaksKeepsNoneBack) {
    Schedule schedule;
    TimePoint now = start;
    std::vector<std::string> names{"a", "b", "c"};
    std::string order;
    while (names.size() > 1 && order.size() < 20) {
        const auto choice = schedule.choose(names, now);
        if (!choice.name) {
            now = *choice.wake;
            continue;
        }
        order += *choice.name;
        if (*choice.name == "a") {
            schedule.note_failure("a", 0, {}, now, 0.5);
            continue;
        }
        schedule.note_success(*choice.name);
        std::erase(names, *choice.name);
    }
    EXPECT_EQ(order, "abc");
}

TEST(Schedule, ALongOutageCostsFewAttempts) {
    Schedule schedule;
    std::mt19937_64 random(1);
    std::vector<std::string> names(50);
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i);
    TimePoint now = start;
    int attempts = 0;
    while (now < start + hours(72)) {
        const auto choice = schedule.choose(names, now);
        if (!choice.name) {
            ASSERT_LE(*choice.wake - now, retry_cap);
            ASSERT_GT(*choice.wake, now);
            now = *choice.wake;
            continue;
        }
        ++attempts;
        schedule.note_failure(*choice.name, 0, {}, now,
                              std::uniform_real_distribution<double>(0.0, 1.0)(random));
    }
    EXPECT_GE(attempts, 72 * 4) << "at least every quarter of an hour";
    EXPECT_LE(attempts, 72 * 4 * 3) << "twice that on average";
}

TEST(Schedule, SuccessEndsTheBackOff) {
    Schedule schedule;
    for (int i = 0; i < 20; ++i) schedule.note_failure("a", 0, {}, start, 0.99);
    EXPECT_FALSE(schedule.choose(both, start + seconds(800)).name.has_value());
    schedule.note_success("a");
    schedule.note_failure("a", 0, {}, start, 0.99);
    EXPECT_EQ(schedule.choose({"a"}, start + seconds(1)).name, "a");
}

TEST(Schedule, BundlesAndBatchesTakeTurns) {
    const std::string id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11-0123456789abcdef";
    const std::string bundle = id + ".lagtrap.tar.zst";
    std::vector<std::string> names{
        "1" + id.substr(1) + ".runs.zst", "2" + id.substr(1) + ".runs.zst",
        "3" + id.substr(1) + ".runs.zst", bundle, "a" + bundle.substr(1)};
    Schedule schedule;
    std::vector<std::string> order;
    while (!names.empty()) {
        order.push_back(*schedule.choose(names, start).name);
        schedule.note_success(order.back());
        std::erase(names, order.back());
    }
    std::string kinds;
    for (const std::string& name : order) kinds += name.ends_with(".runs.zst") ? 'r' : 'b';
    EXPECT_EQ(kinds, "brbrr");
    EXPECT_EQ(order[1][0], '1') << "of each kind the first";
}

TEST(Schedule, ForgetsBundlesThatAreGone) {
    Schedule schedule;
    for (int i = 0; i < 20; ++i) schedule.note_failure("a", 500, {}, start, 0.99);
    EXPECT_EQ(schedule.choose({"b"}, start).name, "b");
    EXPECT_EQ(schedule.choose(both, start).name, "a");
}

}  // namespace
}  // namespace lagtrap::uploader::schedule_test
