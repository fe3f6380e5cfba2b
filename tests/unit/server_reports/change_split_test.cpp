#include "server/reports/change_split.hpp"

#include <gmock/gmock.h>

#include "server/reports/worsening.hpp"

namespace lagtrap::server::reports::change_split_test {
namespace {

using testing::IsEmpty;

// 1,000 runs of each before and after.
ChangedPart part_of(const std::string& name, double slow_before, double slow_after) {
    return {name, {1000, slow_before}, {1000, slow_after}, 0, false};
}

std::vector<std::string> changed_of(const ChangeSplit& split) {
    std::vector<std::string> names;
    for (const ChangedPart& part : split.parts)
        if (part.changed) names.push_back(part.name);
    return names;
}

TEST(ChangeSplit, TheChangedStandFirstAndTheirCommonBeginningIsNamed) {
    // fra-3 alone would not be certain.
    const auto split = split_change({part_of("ams-1", 20, 22), part_of("fra-1", 20, 60),
                                     part_of("ams-2", 18, 17), part_of("fra-2", 18, 58),
                                     part_of("fra-3", 20, 34), part_of("ams-3", 21, 25)});
    EXPECT_TRUE(split.concentrated);
    EXPECT_EQ(split.pattern, "fra-*");
    EXPECT_EQ(split.changed, 3U);
    EXPECT_THAT(changed_of(split), testing::UnorderedElementsAre("fra-1", "fra-2", "fra-3"));
    EXPECT_THAT(split.parts.front().name, testing::StartsWith("fra-"));
    EXPECT_NEAR(split.parts.front().beyond, 40, 2);
}

TEST(ChangeSplit, APatternEndsAtASeparator) {
    const auto pattern_of = [](const std::string& changed, const std::string& others) {
        const auto name = [](std::string text, const char* number) {
            return text.replace(text.find('?'), 1, number);
        };
        return split_change(
                   {part_of(name(others, "1"), 20, 22), part_of(name(changed, "1"), 20, 60),
                    part_of(name(others, "2"), 18, 17), part_of(name(changed, "2"), 18, 58),
                    part_of(name(changed, "3"), 20, 57)})
            .pattern;
    };
    for (const std::string separator : {"-", ".", "_", "@", "/", ":"}) {
        EXPECT_EQ(pattern_of("fra" + separator + "?", "ams" + separator + "?"),
                  "fra" + separator + "*");
        EXPECT_EQ(pattern_of("?" + separator + "fra", "?" + separator + "ams"),
                  "*" + separator + "fra");
    }
    EXPECT_EQ(pattern_of("fra?", "ams?"), "");
    EXPECT_EQ(pattern_of("fra+?", "ams+?"), "");
}

// Twenty hosts of fra are twice as often slow; those of ams, with this many slow runs after 50
// before, drifted.
TEST(ChangeSplit, APatternStandsOutIfTheOthersDriftedByLessThanHalf) {
    const auto split_with = [](double slow_after) {
        std::vector<ChangedPart> parts;
        for (int i = 1; i <= 20; ++i) {
            const std::string number = std::to_string(i);
            parts.push_back({"fra-" + number, {2000, 50}, {2000, 100}, 0, false});
            parts.push_back({"ams-" + number, {2000, 50}, {2000, slow_after}, 0, false});
        }
        return split_change(std::move(parts));
    };
    const auto drifted = split_with(69);
    EXPECT_TRUE(drifted.concentrated);
    EXPECT_EQ(drifted.pattern, "fra-*");
    EXPECT_EQ(drifted.changed, 20U);
    const auto changed = split_with(73);
    EXPECT_FALSE(changed.concentrated);
    EXPECT_EQ(changed.changed, 40U);
}

TEST(ChangeSplit, WithoutAPatternThePartsAreNamed) {
    const auto split = split_change(
        {part_of("a", 20, 60), part_of("b", 20, 21), part_of("c", 20, 55), part_of("d", 20, 19)});
    EXPECT_TRUE(split.concentrated);
    EXPECT_THAT(split.pattern, IsEmpty());
    EXPECT_THAT(changed_of(split), testing::UnorderedElementsAre("a", "c"));
}

TEST(ChangeSplit, WhatChangedEverywhereIsNotConcentrated) {
    const auto split = split_change({part_of("a-1", 20, 60), part_of("a-2", 20, 55),
                                     part_of("b-1", 20, 66), part_of("b-2", 20, 48)});
    EXPECT_FALSE(split.concentrated);
    EXPECT_EQ(split.changed, 4U);
    EXPECT_THAT(split.pattern, IsEmpty());
    EXPECT_FALSE(split_change({}).concentrated);
    EXPECT_FALSE(split_change({part_of("only", 20, 60)}).concentrated);
}

TEST(ChangeSplit, FewerSlowRunsAreAChangeToo) {
    const auto split = split_change({part_of("eu.example", 60, 20), part_of("us.example", 60, 62),
                                     part_of("asia.example", 60, 58)});
    EXPECT_TRUE(split.concentrated);
    EXPECT_THAT(changed_of(split), testing::ElementsAre("eu.example"));
    EXPECT_EQ(split.parts.front().name, "eu.example");
}

TEST(ChangeSplit, ANewBuildIsComparedWithAllRunsBefore) {
    const auto split = split_change(
        {{"old", {10000, 200}, {5000, 100}, 0, false}, {"new", {0, 0}, {5000, 300}, 0, false}});
    EXPECT_TRUE(split.concentrated);
    EXPECT_THAT(changed_of(split), testing::ElementsAre("new"));
    EXPECT_NEAR(split.parts.front().beyond, 200, 1);
}

TEST(ComparedTimes, AreAWeekOnEachSideIfThereIsOne) {
    constexpr std::uint64_t week_ns = 7 * day_length_ns;
    const auto long_ago = compared_times(10 * week_ns, 20 * week_ns);
    EXPECT_EQ(long_ago.before_ns, 9 * week_ns);
    EXPECT_EQ(long_ago.after_ns, 11 * week_ns);
    const auto new_one = compared_times(day_length_ns, day_length_ns + 5);
    EXPECT_EQ(new_one.before_ns, 0U);
    EXPECT_EQ(new_one.after_ns, day_length_ns + 5);
    EXPECT_EQ(compared_times(7, 7).after_ns, 8U);
}

}  // namespace
}  // namespace lagtrap::server::reports::change_split_test
