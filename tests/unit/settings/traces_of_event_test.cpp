#include "settings/traces_of_event.hpp"

#include <gmock/gmock.h>

#include "tests/unit/settings/files.hpp"
#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::traces_of_event_test {
namespace {

using namespace testing_files;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// An event with this element added, and what was reported.
struct Traced {
    Event event;
    std::vector<std::string> problems;
};

template <typename Build>
Traced traced(const std::string& element, Event event, Build build) {
    const std::string text = testing_files::event("\n" + element);
    const LineIndex index(text);
    Diagnostics diagnostics;
    const Element root = read_document(index, diagnostics).value();
    build(root.child("event")->children.at(0), event, diagnostics);
    return {std::move(event), testing_sources::problems_in(diagnostics)};
}

Event shop() {
    Event event;
    event.name = "shop";
    event.begin.kind = MarkerKind::Function;
    return event;
}

Traced functions(const std::string& attributes, Event event = shop()) {
    return traced("<functions " + attributes + "/>", std::move(event), build_functions);
}

Traced object(const std::string& attributes) {
    return traced("<object " + attributes + "/>", shop(), build_object);
}

TEST(TextOfEvent, HasItsNameIfItHasOne) {
    EXPECT_EQ(text_of(shop()), "event \"shop\"");
    EXPECT_EQ(text_of(Event()), "the event");
}

TEST(TracedFunctionsTest, HaveTheirAttributes) {
    const Traced given = functions(
        "standing='yes' window='7s' include='lib' exclude='^x' min='2ms' rate='3kB' share='4%'");
    EXPECT_THAT(given.problems, IsEmpty());
    EXPECT_EQ(given.event.functions, (TracedFunctions{true, 7s, "lib", "^x", 2ms, 3000, 40'000}));
    const Traced usual = functions("");
    EXPECT_THAT(usual.problems, IsEmpty());
    EXPECT_EQ(usual.event.functions, TracedFunctions{});
    EXPECT_EQ(functions("standing='no'").event.functions, TracedFunctions{});
}

TEST(TracedFunctionsTest, AWindowNeedsStandingTracing) {
    const std::string refused =
        "4: window in <functions> without standing; expected no window, or standing=\"yes\" "
        "(without it, functions are traced only after a breach)";
    EXPECT_THAT(functions("window='2s'").problems, ElementsAre(refused));
    EXPECT_THAT(functions("standing='no' window='2s'").problems, ElementsAre(refused));
    EXPECT_THAT(functions("standing='maybe' window='2s'").problems.size(), 1U);
}

TEST(TracedFunctionsTest, StandingTracingKnowsTheProcesses) {
    for (const MarkerKind kind : {MarkerKind::Usdt, MarkerKind::Function, MarkerKind::Library}) {
        Event event = shop();
        event.begin.kind = kind;
        event.scope.pid = 1;
        event.scope.uid = 2;
        event.scope.binary = "/bin/a";
        EXPECT_THAT(functions("standing='yes'", event).problems, IsEmpty());
    }
    for (const MarkerKind kind : {MarkerKind::Tracepoint, MarkerKind::RunQueue}) {
        Event event = shop();
        event.begin.kind = kind;
        EXPECT_THAT(functions("standing='yes'", event).problems,
                    ElementsAre("4: standing <functions> in event \"shop\", which begins in the "
                                "kernel; expected an event that begins in a program, or "
                                "standing=\"no\" (its processes are unknown until a run is slow)"));
        EXPECT_THAT(functions("", event).problems, IsEmpty());
    }
}

TEST(TracedFunctionsTest, StandingTracingHasNoScopeOfGroups) {
    for (std::string GroupScope::*part :
         {&GroupScope::unit, &GroupScope::control_group, &GroupScope::container, &GroupScope::image,
          &GroupScope::pod, &GroupScope::pod_namespace, &GroupScope::label}) {
        Event event = shop();
        event.scope.groups.*part = "x";
        EXPECT_THAT(functions("standing='yes'", event).problems,
                    ElementsAre("4: standing <functions> in event \"shop\", whose <scope> names "
                                "units or containers; expected a <scope> with only pid, user and "
                                "binary, or standing=\"no\""));
        EXPECT_THAT(functions("", event).problems, IsEmpty());
    }
}

TEST(TracedObjects, OfAPresetAreItsRules) {
    const Traced stdio = object("preset='stdio'");
    EXPECT_THAT(stdio.problems, IsEmpty());
    EXPECT_EQ(stdio.event.objects.size(), calls::object_preset("stdio").value().size());
    EXPECT_FALSE(stdio.event.objects.empty());
    const std::string rest =
        "; expected a preset, a class, or functions that create and release (`lagtrap objects "
        "--list-presets` lists presets)";
    EXPECT_THAT(object("preset='stdio' name='x'").problems,
                ElementsAre("4: <object> in event \"shop\": preset cannot be combined with other "
                            "attributes" +
                            rest));
    const auto unknown = object("preset='none'").problems;
    ASSERT_EQ(unknown.size(), 1U);
    EXPECT_THAT(unknown[0],
                testing::StartsWith("4: <object> in event \"shop\": no object preset \"none\""));
}

TEST(TracedObjects, HaveTheNameOfTheirClass) {
    const auto name_of = [](const std::string& attributes) {
        const Traced one = object(attributes);
        EXPECT_THAT(one.problems, IsEmpty()) << attributes;
        return one.event.objects.empty() ? std::string() : one.event.objects.front().name;
    };
    EXPECT_EQ(name_of("class='Cart'"), "Cart");
    EXPECT_EQ(name_of("class='Cart' name='c'"), "c");
    EXPECT_EQ(name_of("create='cart_new:result' release='cart_free:arg0'"), "object");
}

TEST(TracedObjects, WithAnInvalidAttributeAreReportedOnce) {
    const Traced wrong = object("create='cart_new:result' error='sometimes'");
    EXPECT_EQ(wrong.problems.size(), 1U);
    EXPECT_TRUE(wrong.event.objects.empty());
    EXPECT_THAT(object("use='cart_use:arg0'").problems.size(), 1U);
}

}  // namespace
}  // namespace lagtrap::settings::traces_of_event_test
