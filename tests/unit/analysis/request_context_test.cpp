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

std::string event_at(Recording& recording, std::uint32_t at_tid, Window window) {
    recording.run_index = index_of_runs(recording.runs);
    const auto part = request_of(recording, at_tid, std::vector<Window>{window});
    return part ? part->request.event : "";
}

TEST(RequestContext, ARunIsTheRequestOfItsThread) {
    test::MadeRecording made;
    auto& run = add_run(made.recording, "report", 100, 200);
    run.key = 17;
    made.recording.run_index = index_of_runs(made.recording.runs);
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
    made.recording.run_index = index_of_runs(made.recording.runs);
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
    const RequestContext request = request_of_delay({}, delay);
    EXPECT_TRUE(is_run_of(delay, request));
    EXPECT_TRUE(is_same_request(request, request));
    RequestContext other = request;
    other.run_id = 4;
    EXPECT_FALSE(is_run_of(delay, other));
    EXPECT_FALSE(is_same_request(request, other));
    other = request;
    other.begin_ns = 101;
    EXPECT_FALSE(is_run_of(delay, other));
    EXPECT_FALSE(is_same_request(request, other));
    other = request;
    other.event = "query";
    EXPECT_FALSE(is_run_of(delay, other));
    EXPECT_FALSE(is_same_request(request, other));
    EXPECT_FALSE(is_same_request({}, {}));
    EXPECT_FALSE(is_run_of({}, {}));
    delay.trace.trace_id = other.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    EXPECT_TRUE(is_same_request(request_of_delay({}, delay), other));
}

TEST(RequestContext, RunsAreFoundAmongManyOthers) {
    test::MadeRecording made;
    add_run(made.recording, "report", 100, 100'000);
    for (std::uint64_t begin_ns = 200; begin_ns < 50'000; begin_ns += 100)
        add_run(made.recording, "ping", begin_ns, begin_ns + 50);
    add_run(made.recording, "query", 60'000, 61'000).begin_tid = other_tid;
    EXPECT_EQ(event_at(made.recording, tid, {210, 240}), "ping");
    EXPECT_EQ(event_at(made.recording, tid, {49'910, 49'940}), "ping");
    EXPECT_EQ(event_at(made.recording, tid, {60'000, 99'000}), "report");
    EXPECT_EQ(event_at(made.recording, tid, {100'000, 100'001}), "");
    EXPECT_EQ(event_at(made.recording, tid, {0, 100}), "");
}

TEST(RequestContext, TheIndexKnowsWhereASearchCanEnd) {
    test::MadeRecording made;
    add_run(made.recording, "report", 100, 300);
    auto& handed_over = add_run(made.recording, "query", 120, 180);
    handed_over.stages = {{"parse", 140, 150, other_tid}, {"answer", 150, 180, other_tid}};
    add_run(made.recording, "abandoned", 130, 200).abandoned = true;
    RunIndex index = index_of_runs(made.recording.runs);
    ASSERT_EQ(index.size(), 2U);
    ASSERT_EQ(index[tid].size(), 2U);
    EXPECT_EQ(index[tid][1].run, 1U);
    EXPECT_EQ(index[tid][1].latest_end_ns, 300U);
    ASSERT_EQ(index[other_tid].size(), 1U) << "once for all of its stages";
    EXPECT_EQ(index[other_tid][0].latest_end_ns, 180U);
}

TEST(RequestContext, ADelayHasWhatItsThreadPublished) {
    test::MadeRecording made;
    made.recording.begin_ns = 50;
    made.recording.end_ns = 300;
    PublishedSpan span;
    span.at_ns = 110;
    span.trace_id = made.name("4bf92f3577b34da6a3ce929d0e0e4736");
    span.span_id = made.name("00f067aa0ba902b7");
    span.attributes = {{made.name("http.route"), made.name("/report")},
                       {made.name("tenant"), made.name("B")}};
    made.recording.spans[tid] = {span};
    trace::Delay delay;
    delay.run_id = 3;
    delay.event = "report";
    delay.begin_ns = 10;
    delay.duration_ns = 190;
    delay.begin_tid = tid;
    const auto route = [&] { return request_of_delay(made.recording, delay).route; };
    const RequestContext request = request_of_delay(made.recording, delay);
    EXPECT_EQ(request.route, "/report");
    EXPECT_EQ(request.span_id, "00f067aa0ba902b7");
    EXPECT_EQ(request.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(request.attributes, (std::vector<RequestAttribute>{{"tenant", "B"}}));
    EXPECT_EQ(request.begin_ns, 10U);
    EXPECT_EQ(request.end_ns, 200U);
    delay.duration_ns = 150;
    EXPECT_EQ(route(), "") << "less than half of the time";
    delay.duration_ns = 190;
    delay.in_go = true;
    EXPECT_EQ(route(), "");
    delay.in_go = false;
    delay.trace.trace_id = "0af7651916cd43dd8448eb211c80319c";
    EXPECT_EQ(route(), "") << "its marker names another trace";
    made.recording.begin_ns = 200;
    delay.trace.trace_id.clear();
    EXPECT_EQ(route(), "") << "it ended before the recording";
}

}  // namespace
}  // namespace lagtrap::analysis::request_context_test
