#include "daemon/events/event_traits.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/events/event_copies.hpp"
#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon::event_traits_test {
namespace {

using settings::Event;
using settings::MarkerKind;
using testing::ElementsAre;

Event call() {
    Event event;
    event.begin.kind = event.end.kind = MarkerKind::Function;
    event.begin.name = event.end.name = "serve";
    event.begin.binary = event.end.binary = "/usr/bin/app";
    event.begin.side = settings::FunctionSide::Entry;
    event.end.side = settings::FunctionSide::Return;
    return event;
}

Event probes() {
    Event event;
    event.begin.kind = event.end.kind = MarkerKind::Usdt;
    event.begin.binary = event.end.binary = "/usr/bin/app";
    event.begin.name = "begin";
    event.end.name = "end";
    return event;
}

Event changed(Event event, const std::function<void(Event&)>& change) {
    change(event);
    return event;
}

TEST(EventTraits, ACallIsOneFunctionFromEntryToReturn) {
    EXPECT_TRUE(pairs_calls(call()));
    EXPECT_FALSE(pairs_calls(probes()));
    const std::vector<std::function<void(Event&)>> changes{
        [](Event& event) { event.end.name = "serve_all"; },
        [](Event& event) { event.end.binary = "/usr/bin/other"; },
        [](Event& event) { event.end.side = settings::FunctionSide::Entry; },
        [](Event& event) { event.begin.side = settings::FunctionSide::Return; },
        [](Event& event) { event.end.kind = MarkerKind::Usdt; },
        [](Event& event) { event.key = settings::KeyKind::Argument; },
        [](Event& event) { event.nesting = settings::Nesting::Restart; },
        [](Event& event) {
            event.other_ends.push_back({event.end, settings::EndMeaning::Failed});
        }};
    for (const auto& change : changes) EXPECT_FALSE(pairs_calls(changed(call(), change)));
}

TEST(EventTraits, CallsWithMarkersInBetweenAreNotToldApartByFrames) {
    EXPECT_TRUE(pairs_frames(call()));
    EXPECT_FALSE(pairs_frames(probes()));
    EXPECT_FALSE(pairs_frames(changed(call(), [](Event& event) { event.stages.emplace_back(); })));
    EXPECT_FALSE(pairs_frames(
        changed(call(), [](Event& event) { event.nesting = settings::Nesting::Outermost; })));
}

TEST(EventTraits, StackOrderIsOfProbesThatOneThreadHits) {
    EXPECT_TRUE(keeps_stack_order(probes()));
    EXPECT_FALSE(keeps_stack_order(call()));
    EXPECT_FALSE(keeps_stack_order(
        changed(probes(), [](Event& event) { event.key = settings::KeyKind::Argument; })));
    EXPECT_FALSE(keeps_stack_order(
        changed(probes(), [](Event& event) { event.nesting = settings::Nesting::Restart; })));
    EXPECT_FALSE(keeps_stack_order(
        changed(probes(), [](Event& event) { event.end.kind = MarkerKind::Tracepoint; })));
    EXPECT_FALSE(keeps_stack_order(
        changed(probes(), [](Event& event) { event.begin.kind = MarkerKind::RunQueue; })));
}

TEST(EventTraits, TimesAreCountedUnlessOtherThreadsMayHitTheMarkers) {
    EXPECT_TRUE(counts_times(call()));
    EXPECT_TRUE(counts_times(
        changed(call(), [](Event& event) { event.begin.kind = MarkerKind::Tracepoint; })));
    EXPECT_FALSE(counts_times(
        changed(probes(), [](Event& event) { event.begin.kind = MarkerKind::RunQueue; })));
    const Event keyed =
        changed(probes(), [](Event& event) { event.key = settings::KeyKind::Argument; });
    EXPECT_TRUE(counts_times(keyed));
    EXPECT_FALSE(counts_times(
        changed(keyed, [](Event& event) { event.begin.kind = MarkerKind::Tracepoint; })));
    EXPECT_FALSE(counts_times(
        changed(keyed, [](Event& event) { event.end.kind = MarkerKind::Tracepoint; })));
    EXPECT_FALSE(counts_times(changed(keyed, [](Event& event) {
        event.stages.emplace_back().marker.kind = MarkerKind::Tracepoint;
    })));
}

TEST(EventTraits, KeysAreValuesOfOneProcessUnlessTheSettingsSayOtherwise) {
    EXPECT_FALSE(keyed_by_argument(probes()));
    const Event keyed =
        changed(probes(), [](Event& event) { event.key = settings::KeyKind::Argument; });
    EXPECT_TRUE(keyed_by_argument(keyed));
    EXPECT_FALSE(keyed_for_machine(keyed));
    EXPECT_TRUE(keyed_for_machine(
        changed(keyed, [](Event& event) { event.key_scope = settings::KeyScope::Machine; })));
    EXPECT_FALSE(keyed_for_machine(
        changed(probes(), [](Event& event) { event.key_scope = settings::KeyScope::Machine; })));
}

TEST(EventCopies, AreFilesNamedAsTheMarkersSay) {
    Event event = probes();
    event.end.binary = "";
    event.stages.emplace_back().marker.binary = "/usr/lib/libapp.so";
    EXPECT_THAT(names_of(event), ElementsAre("/usr/bin/app", "/usr/lib/libapp.so"));
    EXPECT_TRUE(is_named_like("/opt/app", names_of(event)));
    EXPECT_TRUE(is_named_like("/opt/lib/libapp.so", names_of(event)));
    EXPECT_FALSE(is_named_like("/opt/app2", names_of(event)));
    EXPECT_FALSE(is_named_like("/opt/app", {}));
}

TEST(SeenParties, HasOthersIfTheyAreNamedOrTooMany) {
    SeenParties seen;
    EXPECT_FALSE(seen.has_other_than(1000));
    seen.add(1000);
    EXPECT_FALSE(seen.has_other_than(1000));
    EXPECT_TRUE(seen.has_other_than(1001));
    seen.add(1001);
    EXPECT_TRUE(seen.has_other_than(1000));
    seen.remove(1001);
    EXPECT_FALSE(seen.has_other_than(1000));
    lagtrap_seen_parties of_kernel{};
    of_kernel.parties[0] = root_party + 1;
    SeenParties others;
    others.add(of_kernel);
    EXPECT_FALSE(others.has_other_than(root_party));
    seen.add(others);
    EXPECT_TRUE(seen.has_other_than(1000));
    of_kernel.more = 1;
    SeenParties many;
    many.add(of_kernel);
    EXPECT_TRUE(many.has_other_than(root_party));
    SeenParties all;
    all.add(many);
    EXPECT_TRUE(all.has_other_than(root_party));
}

}  // namespace
}  // namespace lagtrap::daemon::event_traits_test
