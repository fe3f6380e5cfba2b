// The suggestions of `lagtrap add`: thresholds, order, elements for the settings.
#include <sys/syscall.h>

#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/add/add_offers.hpp"
#include "cli/add/event_names.hpp"
#include "cli/add/offer_elements.hpp"
#include "settings/parser.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::add_test {
namespace {

using testing::HasSubstr;

Offer function_offer(const std::string& name, std::uint64_t runs, std::uint64_t on_cpu_ns) {
    Offer offer{OfferKind::Function, "function " + name, "x", {}, true, "/usr/bin/shop", {}};
    offer.events.push_back(
        {event_name("/usr/bin/shop", name), "    <function name=\"" + name + "\"/>\n", {}, {}, {}});
    offer.events[0].measured.armed = true;
    offer.events[0].measured.runs = runs;
    offer.events[0].measured.on_cpu_ns = on_cpu_ns;
    return offer;
}

TEST(AddFunctions, WhatWasSeenIsReadBackAndNothingElse) {
    const std::vector<SeenFunction> seen{{"app::Shop::buy(int, char)", 734, false},
                                         {"wait for (it)", 12, true}};
    EXPECT_EQ(lines_of(seen), "734 0 app::Shop::buy(int, char)\n12 1 wait for (it)\n");
    EXPECT_EQ(seen_functions_of(lines_of(seen)), seen);
    // A process that reads hostile bytes can send anything.
    EXPECT_THAT(
        seen_functions_of(
            "\n1001 0 a\n-1 0 a\n5 2 a\n5 0 \n5\nx 0 a\n5 0 a\x1b[1m\n99999999999999999999 0 a\n"),
        testing::IsEmpty());
    EXPECT_EQ(seen_functions_of("5 0 a"), (std::vector<SeenFunction>{{"a", 5, false}}));
    std::string many;
    for (int i = 0; i < 10'000; ++i) many += "1 0 a\n";
    EXPECT_EQ(seen_functions_of(many).size(), 4096U);
}

TEST(AddThresholds, LeaveRoomAboveWhatWasSeen) {
    const auto of = [](std::uint64_t p99_ns, std::uint64_t max_ns) {
        Measured measured;
        measured.p99_ns = p99_ns;
        measured.max_ns = max_ns;
        return threshold_for(measured);
    };
    EXPECT_EQ(of(1'000, 2'000), "1ms");
    EXPECT_EQ(of(1'000'000, 1'000'000), "5ms");     // four times the 99th percentile
    EXPECT_EQ(of(1'000'000, 30'000'000), "100ms");  // twice the longest
    EXPECT_EQ(of(1, 600'000'000), "2s");
    EXPECT_EQ(of(1, 7'200'000'000'000), "1h");
}

boost::json::object status_of(const std::string& event) {
    return boost::json::parse(R"({"events":[{"name":"other","runs":99},)" + event + "]}")
        .as_object();
}

TEST(AddMeasured, TakesEachNumberFromItsField) {
    std::vector<Offer> offers{function_offer("first", 0, 0), function_offer("buy", 0, 0)};
    take_measured(
        offers,
        status_of(
            R"({"name":"t1-shop-buy","armed":true,"disabled":false,"problem":"why","runs":100,)"
            R"("unmatched_begins":3,"open":4,"max_ns":5000,"timed":{"ns":6000,"on_cpu_ns":700},)"
            R"("histogram":[{"from_ns":1000,"to_ns":2000,"count":98},{"from_ns":4000,"to_ns":8000,
               "count":2}]})"),
        std::chrono::seconds(1));
    const Measured& measured = offers[1].events[0].measured;
    EXPECT_TRUE(measured.armed);
    EXPECT_FALSE(measured.too_often);
    EXPECT_EQ(measured.problem, "why");
    EXPECT_EQ(measured.runs, 100U);
    EXPECT_EQ(measured.unended, 7U);
    EXPECT_EQ(measured.max_ns, 5000U);
    EXPECT_LE(measured.p50_ns, 2000U);
    EXPECT_GE(measured.p99_ns, 4000U);
    EXPECT_LE(measured.p99_ns, 5000U) << "no percentile exceeds the longest run";
    EXPECT_EQ(measured.sum_ns, 6000U);
    EXPECT_EQ(measured.on_cpu_ns, 700U);
    EXPECT_EQ(offers[1].events[0].threshold, threshold_for(measured));
    EXPECT_EQ(offers[0].events[0].measured.runs, 0U) << "it is not in the answer";
    EXPECT_EQ(offers[0].events[0].threshold, "");
}

// Several threads at once may be in a function that ends.
TEST(AddMeasured, AFunctionThatOneThreadNeverLeavesIsALoop) {
    const auto is_loop = [](OfferKind kind, std::uint64_t sum_ms) {
        std::vector<Offer> offers{function_offer("buy", 0, 0)};
        offers[0].kind = kind;
        take_measured(offers,
                      status_of(R"({"name":"t0-shop-buy","runs":1,"timed":{"ns":)" +
                                std::to_string(sum_ms * 1'000'000) + "}}"),
                      std::chrono::seconds(1));
        return offers[0].is_loop;
    };
    for (const std::uint64_t sum_ms : {0U, 100U, 949U, 1051U, 1600U, 4000U})
        EXPECT_FALSE(is_loop(OfferKind::Function, sum_ms)) << sum_ms;
    for (const std::uint64_t sum_ms : {951U, 1000U, 1049U}) {
        EXPECT_TRUE(is_loop(OfferKind::Function, sum_ms)) << sum_ms;
        EXPECT_FALSE(is_loop(OfferKind::Probes, sum_ms)) << sum_ms;
    }
}

TEST(AddOrder, PutsTheOutermostOfEqualsFirstAndLeavesOutWhatIsNone) {
    Offer loop = function_offer("loop", 5, 90'000'000);
    loop.is_loop = true;
    Offer refused = function_offer("refused", 5, 90'000'000);
    refused.events[0].measured.armed = false;
    Offer hot = function_offer("hot", 1'000'000, 95'000'000);
    hot.events[0].measured.too_often = true;
    const auto order = ranked(
        {loop, refused, function_offer("never", 0, 0), hot, function_offer("small", 9, 20'000'000),
         function_offer("outer", 9, 80'000'000), function_offer("inner", 9, 80'000'000)});
    std::vector<std::string> titles;
    for (const Offer& offer : order) titles.push_back(offer.title);
    EXPECT_THAT(titles, testing::ElementsAre("function outer", "function inner", "function small",
                                             "function hot"));
}

TEST(AddOrder, AFunctionWithThreeQuartersOfTheTimeOfItsCalleeIsTheOutermost) {
    const auto first = [](std::uint64_t outer_ms) {
        return ranked({function_offer("outer", 9, outer_ms * 1'000'000),
                       function_offer("inner", 9, 100'000'000)})[0]
            .title;
    };
    EXPECT_EQ(first(75), "function outer");
    EXPECT_EQ(first(74), "function inner");
}

TEST(AddOrder, PresetsComeFirstAndProbesWithoutRunsLast) {
    Offer preset{OfferKind::Preset, "preset shop", "x", "shop", true, {}, {}};
    preset.events = {{"buy", {}, "1s", {}, {}}};
    Offer probes = function_offer("probes", 0, 0);
    probes.kind = OfferKind::Probes;
    const auto order = ranked({probes, function_offer("buy", 9, 80'000'000), preset});
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(order[0].title, "preset shop") << "though it did not run";
    EXPECT_EQ(order[1].title, "function buy");
    EXPECT_EQ(order[2].title, "function probes");
}

TEST(AddTrials, AreOfPresetsAndOfEvents) {
    Offer preset{OfferKind::Preset, "preset shop", "x", "shop", true, {}, {}};
    preset.events = {{"buy", {}, "1s", {}, {}}, {"pay", {}, "1s", {}, {}}};
    std::vector<Offer> offers{preset, function_offer("buy", 0, 0)};
    AddTarget target{"/usr/bin/shop", "/usr/bin/shop", {}, {}};
    const std::string event =
        "<event name=\"t1-shop-buy\" threshold=\"1h\" trace-length=\"10ms\" breach=\"end\" "
        "binary=\"/usr/bin/shop\">";
    EXPECT_EQ(
        trial_elements(offers, target),
        "<use preset=\"shop\" prefix=\"t0-\" threshold=\"1h\" trace-length=\"10ms\"></use>\n" +
            event + "\n    <function name=\"buy\"/>\n</event>\n");
    target.unit = "shop.service";
    EXPECT_THAT(trial_elements(offers, target),
                HasSubstr("trace-length=\"10ms\"><scope unit=\"shop.service\"/></use>\n"));
    EXPECT_THAT(trial_elements(offers, target),
                HasSubstr(event + "<scope unit=\"shop.service\"/>\n"));
    offers[0].may_have_scope = false;
    EXPECT_THAT(trial_elements(offers, target), HasSubstr("trace-length=\"10ms\"></use>\n"));
    take_measured(offers,
                  boost::json::parse(R"({"events":[{"name":"t0-buy","armed":true,"runs":3},)"
                                     R"({"name":"t0-pay","armed":true,"runs":4}]})")
                      .as_object(),
                  std::chrono::seconds(1));
    EXPECT_EQ(offers[0].events[1].measured.runs, 4U);
    EXPECT_EQ(offers[0].runs(), 7U) << "of all its events";
}

TEST(AddElements, AreSettings) {
    Offer offer = function_offer("buy", 9, 1'000);
    offer.events[0].threshold = "20ms";
    for (const OfferChoice& choice : {OfferChoice{}, OfferChoice{"3s", "eu-", "shop.service"}}) {
        const std::string xml = settings_elements(offer, choice);
        const auto outcome = settings::parse_settings(
            "<lagtrap version=\"1\">\n" + xml + "</lagtrap>", settings::BinaryCheck::Skip);
        EXPECT_TRUE(outcome.ok()) << xml;
        ASSERT_EQ(outcome.settings.events.size(), 1);
        EXPECT_EQ(outcome.settings.events[0].scope.groups.unit, choice.unit);
        EXPECT_EQ(outcome.settings.events[0].name, choice.prefix + "shop-buy");
    }
    EXPECT_THAT(settings_elements(offer, {"3s", {}, {}}),
                HasSubstr("name=\"shop-buy\" threshold=\"3s\""));
}

TEST(AddLoops, AreAroundTheCallsThatThreadsWaitIn) {
    const test::TemporaryFolder proc;
    const auto add_thread = [&](const std::string& tid, const std::string& syscall) {
        const auto folder = proc.path() / "7" / "task" / tid;
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "syscall") << syscall;
    };
    add_thread("7", std::to_string(SYS_epoll_pwait) +
                        " 0x4 0x7ffc 0x1 0xffffffff 0x0 0x8 0x7ffc 0x7f0c\n");
    add_thread("8", "running\n");
    add_thread("9",
               std::to_string(SYS_futex) + " 0x4 0x7ffc 0x1 0xffffffff 0x0 0x8 0x7ffc 0x7f0c\n");
    add_thread("10", "-1 0x7ffc 0x7f0c\n");
    AddTarget target{"/usr/bin/shop", "/usr/bin/shop", {}, {}};
    target.processes.resize(2);
    target.processes[0].pid = 7;
    target.processes[1].pid = 70;  // has ended
    WaitingCalls seen;
    note_waiting_calls(target, seen, proc.path());
    note_waiting_calls(target, seen, proc.path());
    EXPECT_THAT(seen, testing::ElementsAre(testing::Pair("epoll_pwait", 2U)));

    std::vector<Offer> offers = loop_offers(target, seen);
    ASSERT_EQ(offers.size(), 1U);
    const std::string xml = settings_elements(offers[0], {"50ms", {}, "shop.service"});
    const auto outcome = settings::parse_settings("<lagtrap version=\"1\">\n" + xml + "</lagtrap>",
                                                  settings::BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok()) << xml;
    EXPECT_EQ(outcome.settings.events[0].name, "shop-turn");
    EXPECT_EQ(outcome.settings.events[0].scope.groups.unit, "shop.service");
    EXPECT_EQ(outcome.settings.events[0].begin.name, "sys_exit_epoll_pwait");
    EXPECT_EQ(outcome.settings.events[0].end.name, "sys_enter_epoll_pwait");
    EXPECT_THAT(xml, HasSubstr("<scope unit=\"shop.service\" binary=\"/usr/bin/shop\"/>"));
    EXPECT_THAT(trial_elements(offers, target), HasSubstr("<scope binary=\"/usr/bin/shop\"/>"));
}

TEST(AddLoops, ComeAfterFunctionsThatCoverThemAndBeforeOthers) {
    Offer turn = function_offer("turn", 9, 90'000'000);
    turn.kind = OfferKind::Loop;
    turn.title = "turn";
    Offer waiting = function_offer("waiting", 9, 90'000'000);
    waiting.waits_for_events = true;
    const auto first = [&](std::uint64_t on_cpu_ns) {
        return ranked({waiting, turn, function_offer("buy", 9, on_cpu_ns)})[0].title;
    };
    EXPECT_EQ(first(60'000'000), "function buy");
    EXPECT_EQ(first(30'000'000), "function buy") << "no more than three times as much";
    EXPECT_EQ(first(29'999'999), "turn");
    EXPECT_EQ(first(10'000'000), "turn");
    EXPECT_EQ(ranked({waiting, turn}).back().title, "function waiting");
}

TEST(AddElements, OfAPresetHaveAThresholdForEachEventThatRan) {
    Offer offer{OfferKind::Preset, "preset shop", "x", "shop", true, {}, {}};
    offer.events = {
        {"buy", {}, "1s", {}, "20ms"}, {"pay", {}, "1s", {}, {}}, {"ship", {}, "1s", {}, {}}};
    EXPECT_EQ(settings_elements(offer, {}),
              "  <use preset=\"shop\" events=\"buy\" threshold=\"20ms\"/>\n"
              "  <use preset=\"shop\" events=\"pay ship\"/>\n");
    EXPECT_EQ(settings_elements(offer, {"1s", "eu-", "web.service"}),
              "  <use preset=\"shop\" threshold=\"1s\" prefix=\"eu-\">\n    <scope "
              "unit=\"web.service\"/>\n  </use>\n");
    offer.events[0].threshold.clear();
    EXPECT_EQ(settings_elements(offer, {}), "  <use preset=\"shop\"/>\n");
}

}  // namespace
}  // namespace lagtrap::cli::add_test
