#include "cli/add/add_text.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/add/offer_elements.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::add_text_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t ms = 1'000'000;

OfferedEvent event(std::uint64_t runs = 20) {
    OfferedEvent made;
    made.name = "shop-buy";
    made.measured.armed = true;
    made.measured.runs = runs;
    made.measured.p50_ns = ms;
    made.measured.p99_ns = 2 * ms;
    made.measured.max_ns = 3 * ms;
    return made;
}

Offer offer(const OfferedEvent& one, OfferKind kind = OfferKind::Function) {
    Offer made;
    made.kind = kind;
    made.title = "function buy";
    made.about = "About it.";
    made.events = {one};
    return made;
}

AddTarget target(std::size_t processes = 1) {
    AddTarget made{"/usr/bin/shop", "/usr/bin/shop", "", {}};
    for (std::size_t i = 0; i < processes; ++i)
        made.processes.push_back(
            {static_cast<std::uint32_t>(7 + i), "shop", {"/usr/bin/shop"}, {}});
    return made;
}

class AddText : public testing::Test {
  protected:
    AddText() { ::setenv("LAGTRAP_PRESETS", folder_.path().c_str(), 1); }
    ~AddText() override { ::unsetenv("LAGTRAP_PRESETS"); }
    static std::string shown(const std::vector<Offer>& offers, const AddTarget& of = target(),
                             std::chrono::nanoseconds time = 5s,
                             const std::string& asked_for = "shop") {
        return offers_text(offers, of, time, asked_for, {Paint(false), 200});
    }
    // The line about an event.
    static std::string seen(const OfferedEvent& one) {
        const std::string text = shown({offer(one)});
        const std::string about = "     About it.\n     ";
        return text.substr(text.find(about) + about.size());
    }
    test::TemporaryFolder folder_;  // without presets
};

TEST_F(AddText, HasAHeadingAndNumbers) {
    EXPECT_EQ(shown({offer(event()), offer(event(), OfferKind::Preset)}),
              "/usr/bin/shop, 1 process\n"
              "  1. function buy\n     About it.\n     20 runs, median 1.00 ms, 99 % within 2.00 "
              "ms, longest 3.00 ms\n"
              "  2. function buy\n     About it.\n     shop-buy: 20 runs, median 1.00 ms, 99 % "
              "within 2.00 ms, longest 3.00 ms\n");
    AddTarget unit = target(2);
    unit.unit = "shop.service";
    EXPECT_THAT(shown({}, unit),
                testing::StartsWith("/usr/bin/shop, unit shop.service, 2 processes\n"));
    EXPECT_EQ(shown({}, target(0)), "/usr/bin/shop, which is not running\n");
}

TEST_F(AddText, ShowsFiguresOnlyIfItMeasured) {
    EXPECT_THAT(shown({offer(event())}, target(), 0s), Not(HasSubstr("median")));
    EXPECT_THAT(shown({offer(event())}, target(0)), Not(HasSubstr("median")));
}

TEST_F(AddText, SaysWhatWasSeen) {
    OfferedEvent refused = event(0);
    refused.measured.armed = false;
    EXPECT_EQ(seen(refused), "cannot be watched\n");
    refused.measured.problem = "no such function";
    EXPECT_EQ(seen(refused), "cannot be watched: no such function\n");
    refused.measured.too_often = true;
    EXPECT_EQ(seen(refused), "called too often to fit the budget\n");
    EXPECT_EQ(seen(event(0)), "no run\n");
    const std::string figures = ", median 1.00 ms, 99 % within 2.00 ms, longest 3.00 ms";
    EXPECT_EQ(seen(event(19)),
              "19 runs" + figures + "; few runs: a longer --for proposes a better threshold\n");
    EXPECT_THAT(seen(event(1)), testing::StartsWith("1 run, "));
    OfferedEvent often = event(500);
    often.measured.too_often = true;
    often.measured.sum_ns = 400;
    often.measured.on_cpu_ns = 100;
    EXPECT_EQ(seen(often),
              "500 runs" + figures + "; 25 % of it on a CPU; called too often to fit the budget\n");
}

TEST_F(AddText, ShowsStages) {
    Offer staged = offer(event());
    staged.stages = {{"read", "read", 300, 8}, {"price", "price", 600, 8}};
    staged.stage_runs = 8;
    EXPECT_THAT(shown({staged}), EndsWith("\n     stages in 8 runs: read 30 %, price 60 %\n"));
    staged.before_stages_permille = 100;
    EXPECT_THAT(shown({staged}),
                EndsWith("stages in 8 runs: 10 % before the first, read 30 %, price 60 %\n"));
}

TEST_F(AddText, ShowsEight) {
    EXPECT_THAT(shown(std::vector<Offer>(8, offer(event()))), Not(HasSubstr("more")));
    const std::string nine = shown(std::vector<Offer>(9, offer(event())));
    EXPECT_THAT(nine, EndsWith("\n  and 1 more proposal; --json shows them\n"));
    EXPECT_THAT(nine, AllOf(HasSubstr("  8. "), Not(HasSubstr("  9. "))));
    EXPECT_THAT(shown(std::vector<Offer>(10, offer(event()))),
                EndsWith("\n  and 2 more proposals; --json shows them\n"));
}

TEST_F(AddText, SaysThatAScriptIsNotItsProgram) {
    const std::string note =
        " runs in /usr/bin/shop: the events count all processes of that program. Give a unit to "
        "limit them to it.\n";
    EXPECT_THAT(shown({}, target(), 5s, "worker"), HasSubstr("\nworker" + note));
    for (const char* same : {"shop", "42", "/opt/worker"})
        EXPECT_THAT(shown({}, target(), 5s, same), Not(HasSubstr(note))) << same;
    AddTarget unit = target();
    unit.unit = "worker.service";
    EXPECT_THAT(shown({}, unit, 5s, "worker"), Not(HasSubstr(note)));
    AddTarget link = target();
    link.name = "/usr/bin/shop-server";
    EXPECT_THAT(shown({}, link, 5s, "shop-server"), Not(HasSubstr("events count")));
    EXPECT_THAT(shown({}, link, 5s, "shop"), Not(HasSubstr("events count")));
}

TEST_F(AddText, SaysWhyNothingWasFound) {
    EXPECT_EQ(nothing_found(target(0), 5s),
              "/usr/bin/shop is not running and has no preset; start it, give it work, and try "
              "again");
    EXPECT_EQ(nothing_found(target(), 0s),
              "no preset for /usr/bin/shop; without --for 0s, it is measured while it works");
    EXPECT_EQ(
        nothing_found(target(), 5s),
        "no requests found in /usr/bin/shop within 5.00 s: no functions stand out, and no event "
        "loop is busy; give it work meanwhile, or measure longer (--for 30s). `lagtrap "
        "list-markers --functions /usr/bin/shop` lists what can be watched");
}

TEST(AddChoice, IsANumberOfTheList) {
    EXPECT_EQ(chosen_number("", 3), 1U);
    EXPECT_EQ(chosen_number("1", 3), 1U);
    EXPECT_EQ(chosen_number("3", 3), 3U);
    EXPECT_EQ(chosen_number("12", 20), 12U);
    EXPECT_EQ(chosen_number("09", 20), 9U);
    for (const char* none : {"0", "4", "x", "1x", "x1", "-1", "1 ", "18446744073709551617"})
        EXPECT_FALSE(chosen_number(none, 3)) << none;
}

TEST_F(AddText, JsonHasEverything) {
    Offer one = offer(event());
    one.kind = OfferKind::Function;
    one.events[0].element = "    <function name=\"buy\"/>\n";
    one.events[0].threshold = "20ms";
    one.events[0].measured.too_often = true;
    one.events[0].measured.problem = "why";
    one.stages = {{"read", "shop::read", 300, 8}};
    one.stage_runs = 9;
    one.preset = "p";
    AddTarget of = target(2);
    of.unit = "shop.service";
    const json::object shown =
        add_json({one}, of, {1, "<x/>", "eu-", true, "/etc/s.xml", "reloaded"});
    const json::object& only = shown.at("offers").at(0).as_object();
    EXPECT_EQ(
        only.at("events"),
        json::parse(R"([{"name":"shop-buy","threshold":"20ms","runs":20,"p50_ns":1000000,)"
                    R"("p99_ns":2000000,"max_ns":3000000,"too_often":true,"problem":"why"}])"));
    EXPECT_EQ(only.at("stages"), json::parse(R"([{"name":"read","function":"shop::read","runs":8,)"
                                             R"("share_permille":300}])"));
    EXPECT_EQ(only.at("stage_runs"), 9);
    EXPECT_EQ(only.at("title"), "function buy");
    EXPECT_EQ(only.at("about"), "About it.");
    EXPECT_EQ(only.at("preset"), "p");
    EXPECT_EQ(only.at("xml").as_string(), settings_elements(one, {{}, "eu-", "shop.service"}));
    json::object rest = shown;
    rest.erase("offers");
    EXPECT_EQ(rest, json::parse(R"({"program":"/usr/bin/shop","unit":"shop.service",)"
                                R"("processes":[7,8],"chosen":1,"xml":"<x/>","written":true,)"
                                R"("settings":"/etc/s.xml","daemon":"reloaded",)"
                                R"("library_presets":[]})"));
}

}  // namespace
}  // namespace lagtrap::cli::add_text_test
