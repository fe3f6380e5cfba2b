#include "settings/run_identity.hpp"

#include <functional>
#include <set>

#include <gtest/gtest.h>

namespace lagtrap::settings::run_identity_test {
namespace {

using namespace std::chrono_literals;

Event query() {
    Event event;
    event.name = "query";
    event.threshold = 50ms;
    event.begin = {MarkerKind::Usdt,    "/usr/bin/app", "app", "start",
                   FunctionSide::Entry, std::nullopt,   3,     4};
    event.end = {MarkerKind::Usdt,    "/usr/bin/app", "app", "done",
                 FunctionSide::Entry, std::nullopt,   4,     4};
    return event;
}

TEST(RunIdentity, DependsOnWhatMakesTheRuns) {
    std::set<std::string> identities{run_identity(query())};
    const std::vector<std::function<void(Event&)>> changes{
        [](Event& event) { event.begin.name = "begin"; },
        [](Event& event) { event.end.provider = "ap"; },
        [](Event& event) { event.begin.binary = "/usr/bin/app2"; },
        [](Event& event) { event.begin.kind = MarkerKind::Library; },
        [](Event& event) { event.end.side = FunctionSide::Return; },
        [](Event& event) {
            event.begin.key = ArgumentRef{1, "", ""};
        },
        [](Event& event) {
            event.begin_time = ArgumentRef{1, "", ""};
        },
        [](Event& event) { event.nesting = Nesting::Restart; },
        [](Event& event) { event.key = KeyKind::Argument; },
        [](Event& event) { event.key_scope = KeyScope::Machine; },
        [](Event& event) { event.scope.pid = 1; },
        [](Event& event) {
            event.scope.pid = 1;
            event.scope.descendants = true;
        },
        [](Event& event) { event.scope.uid = 1; },
        [](Event& event) { event.scope.groups.unit = "web"; },
        [](Event& event) { event.scope.groups.container = "web"; },
        [](Event& event) {
            event.other_ends.push_back({event.end, EndMeaning::Failed});
        },
        [](Event& event) {
            event.other_ends.push_back({event.end, EndMeaning::Cancelled});
        }};
    for (const auto& change : changes) {
        Event event = query();
        change(event);
        EXPECT_TRUE(identities.insert(run_identity(event)).second);
    }
}

TEST(RunIdentity, DependsOnNothingElse) {
    Event event = query();
    event.name = "other";
    event.threshold = 1s;
    event.threshold_rule = ThresholdRule{};
    event.trace_length = 3s;
    event.record = RecordMode::Runs;
    event.begin.line = 99;
    event.stages.push_back({"parse", event.begin, false});
    EXPECT_EQ(run_identity(event), run_identity(query()));
    EXPECT_EQ(run_identity(event).size(), 16U);
}

}  // namespace
}  // namespace lagtrap::settings::run_identity_test
