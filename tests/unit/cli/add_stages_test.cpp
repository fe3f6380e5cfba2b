// Which stages `lagtrap add` proposes for a function.
#include "cli/add/add_stages.hpp"

#include <gmock/gmock.h>

#include "cli/add/add_offers.hpp"
#include "cli/add/offer_elements.hpp"
#include "settings/parser.hpp"

namespace lagtrap::cli::add_stages_test {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t ms = 1'000'000;

std::vector<std::string> names_of(const auto& all) {
    std::vector<std::string> names;
    for (const auto& one : all) names.push_back(one.name);
    return names;
}

TEST(AddCallees, AreThoseWithEnoughOfTheTime) {
    CalleeTimes times;
    times.add({"main", "serve", "read"}, 20 * ms);
    times.add({"main", "serve", "price", "tax"}, 70 * ms);
    times.add({"main", "serve", "log"}, 4 * ms);
    times.add({"main", "serve"}, 6 * ms);
    EXPECT_EQ(times.dividing("serve"), (std::vector<SeenCallee>{{"price", 700}, {"read", 200}}));
    EXPECT_THAT(times.dividing("tax"), testing::IsEmpty());
    EXPECT_THAT(times.dividing("unknown"), testing::IsEmpty());
}

TEST(AddCallees, OfACalleeThatHasNearlyAllOfTheTime) {
    CalleeTimes times;
    times.add({"serve", "dispatch", "run", "read"}, 40 * ms);
    times.add({"serve", "dispatch", "run", "write"}, 50 * ms);
    times.add({"serve"}, 10 * ms);
    EXPECT_EQ(names_of(times.dividing("serve")), (std::vector<std::string>{"write", "read"}));
}

TEST(AddCallees, EndWithRecursion) {
    CalleeTimes times;
    times.add({"walk", "visit", "walk", "visit"}, 90 * ms);
    times.add({"walk", "walk"}, 10 * ms);
    EXPECT_EQ(names_of(times.dividing("walk")), (std::vector<std::string>{"visit"}));
}

TEST(AddStages, HaveDifferentNames) {
    EXPECT_THAT(names_of(stages_at({"a::read(int)", "b::read(int)", "cold", "operator new", "7"})),
                ElementsAre("read", "read-2", "cold-2", "operator-new", "f7"));
}

trace::RecordedRun run_of(std::uint64_t duration_ms,
                          const std::vector<std::pair<std::string, std::uint64_t>>& stages) {
    trace::RecordedRun run;
    run.duration_ns = duration_ms * ms;
    for (const auto& [name, at_ms] : stages) run.stages.push_back({name, at_ms * ms, 0, 0});
    return run;
}

TEST(AddStages, AreThoseThatDivideTheRuns) {
    // "often" is called for each item, "brief" has little time, and "never" is not reached.
    const trace::RecordedRun run = run_of(100, {{"often", 1},
                                                {"often", 2},
                                                {"often", 3},
                                                {"read", 10},
                                                {"price", 40},
                                                {"brief", 98},
                                                {"other", 99}});
    const auto check = check_stages(stages_at({"price", "often", "brief", "read", "never"}),
                                    std::vector<trace::RecordedRun>(8, run));
    EXPECT_EQ(check.runs, 8U);
    EXPECT_THAT(names_of(check.stages), ElementsAre("read", "price"));
    EXPECT_EQ(check.before_permille, 100U);
    EXPECT_EQ(check.stages[0].share_permille, 300U);
    EXPECT_EQ(check.stages[1].share_permille, 600U)
        << "with the time of the stages that are left out";
    EXPECT_EQ(check.stages[1].runs, 8U);
}

TEST(AddStages, AreNoneIfTheyDivideNothing) {
    const auto count = [](std::size_t runs, const trace::RecordedRun& run) {
        return check_stages(stages_at({"price"}), std::vector<trace::RecordedRun>(runs, run))
            .stages.size();
    };
    EXPECT_EQ(count(8, run_of(100, {{"price", 20}})), 1U);
    EXPECT_EQ(count(8, run_of(100, {{"price", 1}})), 0U) << "it is the whole run";
    EXPECT_EQ(count(8, run_of(0, {{"price", 0}})), 0U);
    EXPECT_EQ(count(4, run_of(100, {{"price", 20}})), 0U) << "too few runs";
    EXPECT_EQ(count(0, {}), 0U);
    trace::RecordedRun dirty = run_of(100, {{"price", 20}});
    dirty.dirty_reasons = 1;
    EXPECT_EQ(count(8, dirty), 0U);
    EXPECT_EQ(count(8, run_of(100, {{"price", 200}})), 0U) << "a stage after the end";
}

TEST(AddStages, AreJudgedByTheLimitsThatTheyReach) {
    const auto count = [](std::size_t runs, const trace::RecordedRun& run,
                          const std::vector<std::string>& stages = {"price"}) {
        return check_stages(stages_at(stages), std::vector<trace::RecordedRun>(runs, run))
            .stages.size();
    };
    EXPECT_EQ(count(5, run_of(100, {{"price", 20}})), 1U) << "enough runs";
    EXPECT_EQ(count(8, run_of(100, {{"price", 20}, {"price", 40}})), 1U) << "twice per run";
    EXPECT_EQ(count(8, run_of(100, {{"price", 20}, {"price", 40}, {"price", 60}})), 0U);
    EXPECT_EQ(count(8, run_of(100, {{"price", 95}})), 1U);
    EXPECT_EQ(count(8, run_of(100, {{"price", 96}})), 0U) << "less than a twentieth";
    EXPECT_EQ(count(8, run_of(100, {{"price", 5}})), 1U);
    EXPECT_EQ(count(8, run_of(100, {{"price", 4}})), 0U);
    EXPECT_EQ(count(8, run_of(100, {{"price", 0}, {"read", 50}}), {"price", "read"}), 2U)
        << "they divide it even if nothing comes before them";
    trace::RecordedRun without = run_of(100, {{"price", 20}});
    without.without_stages = true;
    EXPECT_EQ(count(8, without), 0U);
}

TEST(AddCallees, AreFollowedIfTheyHaveFourFifthsOfTheTime) {
    const auto dividing = [](std::uint64_t called_ms) {
        CalleeTimes times;
        times.add({"serve", "dispatch", "read"}, called_ms / 2 * ms);
        times.add({"serve", "dispatch", "write"}, called_ms / 2 * ms);
        times.add({"serve"}, (100 - called_ms) * ms);
        return times.dividing("serve");
    };
    EXPECT_EQ(dividing(80), (std::vector<SeenCallee>{{"read", 400}, {"write", 400}}));
    EXPECT_EQ(dividing(78), (std::vector<SeenCallee>{{"dispatch", 780}}));
    CalleeTimes times;
    times.add({"serve", "most"}, 91 * ms);
    times.add({"serve", "some"}, 5 * ms);
    times.add({"serve", "few"}, 4 * ms);
    EXPECT_EQ(times.dividing("serve"), (std::vector<SeenCallee>{{"most", 910}, {"some", 50}}));
}

TEST(AddStages, AreWrittenIntoTheSettings) {
    Offer offer{OfferKind::Function, "function serve", "x", {}, true, "/usr/bin/shop", {}};
    offer.events.push_back({"shop-serve", "    <function name=\"serve\"/>\n", {}, {}, {}});
    offer.stages = stages_at({"app::read<int>(int)", "price"});
    AddTarget target{"/usr/bin/shop", "/usr/bin/shop", {}, {}};
    for (const std::string& xml :
         {settings_elements(offer, {}), stage_trial_elements({offer}, target)}) {
        const auto outcome = settings::parse_settings(
            "<lagtrap version=\"1\">\n" + xml + "</lagtrap>", settings::BinaryCheck::Skip);
        ASSERT_TRUE(outcome.ok()) << xml;
        EXPECT_THAT(names_of(outcome.settings.events[0].stages), ElementsAre("read", "price"));
    }
}

Offer offer_of(const std::string& function, const std::vector<std::string>& callees) {
    Offer offer{OfferKind::Function, "function " + function, "x", {}, true, "/usr/bin/shop", {}};
    offer.events.push_back(
        {"shop-" + function, "    <function name=\"" + function + "\"/>\n", {}, {}, {}});
    offer.stages = stages_at(callees);
    return offer;
}

TEST(AddStages, AreWrittenWithTheirFunctions) {
    Offer offer = offer_of("serve", {"app::read<int>(int)", "price"});
    EXPECT_EQ(settings_elements(offer, {"5ms", "eu-", "shop.service"}),
              "  <event name=\"eu-shop-serve\" threshold=\"5ms\"\n"
              "         binary=\"/usr/bin/shop\">\n"
              "    <scope unit=\"shop.service\"/>\n"
              "    <function name=\"serve\"/>\n"
              "    <stage name=\"read\" function=\"app::read&lt;int&gt;(int)\"/>\n"
              "    <stage name=\"price\" function=\"price\"/>\n"
              "  </event>\n");
    AddTarget target{"/usr/bin/shop", "/usr/bin/shop", "shop.service", {}};
    EXPECT_EQ(stage_trial_elements({offer_of("buy", {}), offer}, target),
              "<event name=\"stages1\" threshold=\"1h\" trace-length=\"10ms\" breach=\"end\" "
              "record=\"runs\" binary=\"/usr/bin/shop\"><scope unit=\"shop.service\"/>\n"
              "    <function name=\"serve\"/>\n"
              "    <stage name=\"read\" function=\"app::read&lt;int&gt;(int)\"/>\n"
              "    <stage name=\"price\" function=\"price\"/>\n"
              "</event>\n");
}

TEST(AddStages, AreTriedForTheFirstThreeFunctionsThatAreNotTooHot) {
    std::vector<Offer> offers{offer_of("hot", {"a"}),   offer_of("first", {"a"}),
                              offer_of("plain", {}),    offer_of("second", {"a", "b"}),
                              offer_of("third", {"a"}), offer_of("fourth", {"a"})};
    offers[0].events[0].measured.too_often = true;
    keep_stages_to_try(offers);
    std::vector<std::size_t> counts;
    for (const Offer& offer : offers) counts.push_back(offer.stages.size());
    EXPECT_THAT(counts, ElementsAre(0U, 1U, 0U, 2U, 1U, 0U));
}

TEST(AddStages, KeepWhatTheTrialSaysOfThem) {
    Offer offer = offer_of("serve", {"price", "brief", "read"});
    const trace::RecordedRun run = run_of(100, {{"read", 10}, {"price", 40}, {"brief", 99}});
    take_stages(offer, std::vector<trace::RecordedRun>(8, run));
    EXPECT_THAT(names_of(offer.stages), ElementsAre("read", "price"));
    EXPECT_EQ(offer.stages[0].function, "read");
    EXPECT_EQ(offer.stage_runs, 8U);
    EXPECT_EQ(offer.before_stages_permille, 100U);
    take_stages(offer, {});
    EXPECT_TRUE(offer.stages.empty());
    EXPECT_EQ(offer.stage_runs, 0U);
}

TEST(AddStages, WhatWasSeenIsReadBack) {
    const std::vector<SeenFunction> seen{
        {"buy", 734, false, {{"read(int, char)", 200}, {"price", 700}}}, {"wait", 12, true}};
    EXPECT_EQ(seen_functions_of(lines_of(seen)), seen);
    EXPECT_THAT(seen_functions_of("> 5 a\n"), testing::IsEmpty());
    EXPECT_THAT(seen_functions_of("5 0 a\n> 1001 a\n> x\n> 5\n> 5 \n> 5 a\x1b[1m\n").at(0).callees,
                testing::IsEmpty());
}

}  // namespace
}  // namespace lagtrap::cli::add_stages_test
