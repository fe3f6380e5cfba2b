#include "daemon/capture/capture_session.hpp"

#include <cstring>
#include <string>

#include <gmock/gmock.h>

namespace lagtrap::daemon::capture_session_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

settings::Marker marker(settings::MarkerKind kind, const char* name) {
    settings::Marker made;
    made.kind = kind;
    made.binary = "/bin/shop";
    made.provider = "app";
    made.name = name;
    return made;
}

settings::Settings two_events() {
    using Kind = settings::MarkerKind;
    settings::Settings settings;
    settings.recording.sample_interval = 7ms;
    settings.events.resize(2);
    settings::Event& first = settings.events[0];
    first.name = "pay";
    first.threshold = 5ms;
    first.trace_length = 6s;
    first.trace_length_limit = 60s;
    first.begin = marker(Kind::Function, "work");
    first.end = marker(Kind::Function, "work");
    first.end.side = settings::FunctionSide::Return;
    first.stages.push_back({"read", marker(Kind::Tracepoint, "done")});
    first.stages.push_back({"write", marker(Kind::Library, "written")});
    settings::Event& second = settings.events[1];
    second.name = "wait";
    second.threshold = 8ms;
    second.begin = marker(Kind::RunQueue, "any");
    second.end = marker(Kind::Usdt, "end");
    return settings;
}

TEST(CaptureSession, DescribesTheEvents) {
    const settings::Settings settings = two_events();
    EventThresholds thresholds(settings.events);
    thresholds.set(1, 9ms);
    const auto session = make_session("id-1", settings, thresholds, 1, trace::TriggerReason::Manual,
                                      nullptr, {2s, 20s});
    EXPECT_EQ(session.id, "id-1");
    EXPECT_EQ(session.planned_length_ns, 2'000'000'000U);
    EXPECT_EQ(session.longest_length_ns, 20'000'000'000U);
    EXPECT_EQ(session.sample_interval_ns, 7'000'000U);
    EXPECT_EQ(session.stack_method, "eh-frame");
    ASSERT_EQ(session.events.size(), 2U);
    const trace::SessionEvent& first = session.events[0];
    EXPECT_EQ(first.name, "pay");
    EXPECT_EQ(first.threshold_ns, 5'000'000U);
    EXPECT_EQ(first.trace_length_ns, 6'000'000'000U);
    EXPECT_EQ(first.trace_length_limit_ns, 60'000'000'000U);
    EXPECT_EQ(first.program, "/bin/shop");
    EXPECT_THAT(first.stages, ElementsAre("read", "write"));
    EXPECT_THAT(first.markers, ElementsAre("function work", "tracepoint app:done",
                                           "library written", "return work"));
    EXPECT_EQ(session.events[1].threshold_ns, 9'000'000U) << "the one in force";
    EXPECT_THAT(session.events[1].markers, ElementsAre("wait for a CPU any", "usdt app:end"));
}

TEST(CaptureSession, ARequestBreachesWhenItIsMade) {
    const settings::Settings settings = two_events();
    const auto session = make_session("id", settings, EventThresholds(settings.events), 1,
                                      trace::TriggerReason::Manual, nullptr, {2s, 20s});
    EXPECT_EQ(session.trigger.reason, trace::TriggerReason::Manual);
    EXPECT_EQ(session.trigger.event, 1U);
    EXPECT_GT(session.trigger.reported_ns, 0U);
    EXPECT_EQ(session.trigger.breach_ns, session.trigger.reported_ns);
    EXPECT_EQ(session.trigger.pid, 0U);
    EXPECT_EQ(session.trigger.comm, "");
}

TEST(CaptureSession, ADelayHasItsThreadAndItsTimes) {
    const settings::Settings settings = two_events();
    Breach breach;
    breach.noticed_ns = 900;
    breach.run.end_ns = 800;
    breach.run.begin_ns = 100;
    breach.run.begin_pid = 11;
    breach.run.begin_tid = 12;
    std::memcpy(breach.run.comm, "a\nb", 3);
    const auto session = make_session("id", settings, EventThresholds(settings.events), 0,
                                      trace::TriggerReason::Deadline, &breach, {2s, 20s});
    const trace::SessionTrigger& trigger = session.trigger;
    EXPECT_EQ(trigger.reason, trace::TriggerReason::Deadline);
    EXPECT_EQ(trigger.reported_ns, 900U);
    EXPECT_EQ(trigger.breach_ns, 800U);
    EXPECT_EQ(trigger.begin_ns, 100U);
    EXPECT_EQ(trigger.pid, 11U);
    EXPECT_EQ(trigger.tid, 12U);
    EXPECT_EQ(trigger.comm, "a\\x0ab");
    EXPECT_FALSE(trigger.of_goroutine);
    std::memset(breach.run.comm, 'x', sizeof(breach.run.comm));
    breach.run.flags = LAGTRAP_RUN_OF_GOROUTINE;
    const auto of_go = make_session("id", settings, EventThresholds(settings.events), 0,
                                    trace::TriggerReason::End, &breach, {2s, 20s});
    EXPECT_TRUE(of_go.trigger.of_goroutine);
    EXPECT_EQ(of_go.trigger.comm, std::string(sizeof(breach.run.comm), 'x')) << "without a 0";
}

}  // namespace
}  // namespace lagtrap::daemon::capture_session_test
