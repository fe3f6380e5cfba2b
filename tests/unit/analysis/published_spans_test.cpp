#include "analysis/published_spans.hpp"

#include <gtest/gtest.h>

#include "analysis/request_context.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::published_spans_test {
namespace {

constexpr std::uint32_t tid = 11;

class PublishedSpans : public ::testing::Test {
  protected:
    PublishedSpans() { made_.recording.end_ns = 1000; }
    PublishedSpan& add(std::uint64_t at_ns, const std::string& span,
                       const std::string& trace = "trace") {
        PublishedSpan one;
        one.at_ns = at_ns;
        one.trace_id = span.empty() ? 0 : made_.name(trace);
        one.span_id = span.empty() ? 0 : made_.name(span);
        return made_.recording.spans[tid].emplace_back(one);
    }
    [[nodiscard]] std::optional<SpanPart> part(const std::vector<Window>& times) const {
        return span_of(made_.recording, tid, times);
    }
    [[nodiscard]] std::string at(std::uint64_t begin_ns, std::uint64_t end_ns) const {
        const auto found = part({{begin_ns, end_ns}});
        return found ? made_.recording.name(found->span->span_id) : "";
    }

    test::MadeRecording made_;
};

TEST_F(PublishedSpans, LastUntilTheNextIsSeen) {
    add(100, "a");
    add(200, "");
    add(300, "b");
    EXPECT_EQ(at(100, 200), "a");
    EXPECT_EQ(at(200, 300), "");
    EXPECT_EQ(at(300, 1000), "b");
    EXPECT_EQ(at(50, 150), "a") << "half of the time";
    EXPECT_EQ(at(49, 150), "");
    EXPECT_FALSE(span_of(made_.recording, 12, std::vector<Window>{{100, 200}}));
    const auto found = part({{120, 140}, {190, 210}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->time_ns, 30U);
    EXPECT_EQ(found->seen.begin_ns, 100U);
    EXPECT_EQ(found->seen.end_ns, 200U);
}

TEST_F(PublishedSpans, GoOnWithMoreAttributes) {
    add(100, "a");
    add(200, "a").attributes.push_back({made_.name("tenant"), made_.name("B")});
    const auto found = part({{100, 1000}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->seen.begin_ns, 100U);
    EXPECT_EQ(found->span->attributes.size(), 1U);
    add(300, "");
    add(400, "a");
    EXPECT_EQ(part({{400, 500}})->seen.begin_ns, 400U) << "it was left in between";
}

TEST_F(PublishedSpans, BeganBeforeTheWaitInWhichTheyAreFirstSeen) {
    auto& thread = made_.thread(10, tid);
    const auto change = [&](std::uint64_t at_ns, ThreadState state) {
        thread.changes.emplace_back().at_ns = at_ns;
        thread.changes.back().state = state;
    };
    change(50, ThreadState::Running);
    change(100, ThreadState::Blocked);
    change(600, ThreadState::Runnable);
    change(610, ThreadState::Running);
    add(600, "a");
    EXPECT_EQ(at(100, 600), "a");
    EXPECT_EQ(part({{100, 600}})->seen.begin_ns, 100U);
    EXPECT_EQ(at(50, 100), "") << "it ran";
    add(620, "b");
    EXPECT_EQ(part({{620, 900}})->seen.begin_ns, 620U);
}

TEST_F(PublishedSpans, AreRequestsOfTheirThreads) {
    auto& span = add(100, "a", "4f2a");
    span.attributes = {{made_.name("http.route"), made_.name("POST /report")},
                       {made_.name("tenant"), made_.name("B")}};
    const auto found = request_of(made_.recording, tid, std::vector<Window>{{100, 200}});
    ASSERT_TRUE(found);
    const RequestContext& request = found->request;
    EXPECT_EQ(request.kind, RequestKind::Span);
    EXPECT_EQ(request.event, "");
    EXPECT_EQ(request.trace_id, "4f2a");
    EXPECT_EQ(request.span_id, "a");
    EXPECT_EQ(request.route, "POST /report");
    EXPECT_EQ(request.attributes, (std::vector<RequestAttribute>{{"tenant", "B"}}));
    EXPECT_EQ(request.begin_ns, 100U);
    EXPECT_EQ(request.end_ns, 1000U);
}

TEST_F(PublishedSpans, NameTheTraceOfARun) {
    add(100, "a", "4f2a");
    analysis::Run& run = made_.recording.runs.emplace_back();
    run.id = 1;
    run.event = "report";
    run.begin_ns = 100;
    run.end_ns = 200;
    run.begin_tid = run.end_tid = tid;
    made_.recording.run_index = index_of_runs(made_.recording.runs);
    const auto request = [&] {
        return request_of(made_.recording, tid, std::vector<Window>{{100, 200}})->request;
    };
    EXPECT_EQ(request().kind, RequestKind::Run);
    EXPECT_EQ(request().event, "report");
    EXPECT_EQ(request().trace_id, "4f2a");
    EXPECT_EQ(request().span_id, "a");
    trace::Delay& delay = made_.recording.system.delays.emplace_back();
    delay.run_id = 1;
    delay.begin_ns = 100;
    delay.event = "report";
    delay.trace.trace_id = "5555";
    EXPECT_EQ(request().trace_id, "5555");
    EXPECT_EQ(request().span_id, "") << "of another trace";
}

}  // namespace
}  // namespace lagtrap::analysis::published_spans_test
