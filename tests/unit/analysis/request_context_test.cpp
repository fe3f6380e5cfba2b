#include "analysis/request_context.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::request_context_test {
namespace {

constexpr std::uint32_t tid = 11, other_tid = 12;

Run& add_run(Recording& recording, const std::string& event, std::uint64_t begin_ns,
             std::uint64_t end_ns) {
    auto& run = recording.runs.emplace_back();
    run.id = recording.runs.size();
    run.event = event;
    run.begin_ns = begin_ns;
    run.end_ns = end_ns;
    run.begin_tid = run.end_tid = tid;
    return run;
}

std::string event_at(const Recording& recording, std::uint32_t at_tid, Window window) {
    const auto part = request_of(recording, at_tid, std::vector<Window>{window});
    return part ? part->request.event : "";
}

TEST(RequestContext, ARunIsTheRequestOfItsThread) {
    test::MadeRecording made;
    auto& run = add_run(made.recording, "report", 100, 200);
    run.key = 17;
    const auto part = request_of(made.recording, tid, std::vector<Window>{{120, 160}});
    ASSERT_TRUE(part);
    EXPECT_EQ(part->request.kind, RequestKind::Run);
    EXPECT_EQ(part->request.event, "report");
    EXPECT_EQ(part->request.key, 17U);
    EXPECT_EQ(part->request.begin_ns, 100U);
    EXPECT_EQ(part->request.end_ns, 200U);
    EXPECT_EQ(part->time_ns, 40U);
    EXPECT_EQ(event_at(made.recording, other_tid, {120, 160}), "");
    EXPECT_FALSE(request_of(made.recording, tid, {}));
}

TEST(RequestContext, HalfOfTheTimesLieInIt) {
    test::MadeRecording made;
    add_run(made.recording, "report", 100, 200);
    EXPECT_EQ(event_at(made.recording, tid, {150, 250}), "report");
    EXPECT_EQ(event_at(made.recording, tid, {151, 251}), "");
    EXPECT_EQ(event_at(made.recording, tid, {200, 250}), "");
    const auto part = request_of(made.recording, tid, std::vector<Window>{{90, 120}, {180, 200}});
    ASSERT_TRUE(part);
    EXPECT_EQ(part->time_ns, 40U);
}

TEST(RequestContext, TheInnermostRunCounts) {
    test::MadeRecording made;
    add_run(made.recording, "report", 100, 200);
    add_run(made.recording, "query", 120, 180);
    EXPECT_EQ(event_at(made.recording, tid, {130, 170}), "query");
    EXPECT_EQ(event_at(made.recording, tid, {170, 200}), "report");
}

TEST(RequestContext, ARunThatPassedOnBelongsToAThreadBetweenItsMarkers) {
    test::MadeRecording made;
    auto& run = add_run(made.recording, "report", 100, 200);
    run.stages = {{"parse", 140, 150, tid}, {"answer", 150, 200, other_tid}};
    run.end_tid = other_tid;
    EXPECT_EQ(event_at(made.recording, tid, {100, 140}), "report");
    EXPECT_EQ(event_at(made.recording, tid, {140, 150}), "");
    EXPECT_EQ(event_at(made.recording, other_tid, {140, 150}), "");
    EXPECT_EQ(event_at(made.recording, other_tid, {160, 200}), "report");
    run.open = true;
    run.end_tid = 0;
    EXPECT_EQ(event_at(made.recording, other_tid, {160, 200}), "report");
}

TEST(RequestContext, GoroutinesAndAbandonedRunsBelongToNoThread) {
    test::MadeRecording made;
    auto& run = add_run(made.recording, "report", 100, 200);
    run.in_go = true;
    EXPECT_EQ(event_at(made.recording, tid, {100, 200}), "");
    run.in_go = false;
    run.abandoned = true;
    EXPECT_EQ(event_at(made.recording, tid, {100, 200}), "");
}

TEST(RequestContext, TheTraceIdIsThatOfItsDelay) {
    test::MadeRecording made;
    const auto& run = add_run(made.recording, "report", 100, 200);
    trace::Delay delay;
    delay.run_id = run.id;
    delay.event = "report";
    delay.begin_ns = 100;
    delay.trace.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (const std::uint64_t begin_ns : {100, 101}) {
        delay.begin_ns = begin_ns;
        made.recording.system.delays = {delay};
        const auto part = request_of(made.recording, tid, std::vector<Window>{{100, 200}});
        ASSERT_TRUE(part);
        EXPECT_EQ(part->request.trace_id, begin_ns == 100 ? delay.trace.trace_id : "");
    }
}

TEST(RequestContext, RequestsAreTheSameByRunOrTraceId) {
    trace::Delay delay;
    delay.run_id = 3;
    delay.event = "report";
    delay.begin_ns = 100;
    const RequestContext request = request_of_delay(delay);
    EXPECT_TRUE(is_same_run(request, request));
    EXPECT_TRUE(is_same_request(request, request));
    RequestContext other = request;
    other.run_id = 4;
    EXPECT_FALSE(is_same_request(request, other));
    other = request;
    other.begin_ns = 101;
    EXPECT_FALSE(is_same_request(request, other));
    other = request;
    other.event = "query";
    EXPECT_FALSE(is_same_request(request, other));
    EXPECT_FALSE(is_same_request({}, {}));
    delay.trace.trace_id = other.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    EXPECT_FALSE(is_same_run(request_of_delay(delay), other));
    EXPECT_TRUE(is_same_request(request_of_delay(delay), other));
}

}  // namespace
}  // namespace lagtrap::analysis::request_context_test
