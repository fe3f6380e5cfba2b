#include "daemon/calls/trace_watch.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

namespace lagtrap::daemon::trace_watch_test {
namespace {

using namespace std::chrono_literals;

TEST(EndOfTrace, HasTheReasonThatComesFirst) {
    const TraceLimits limits{2s, "the client disconnected"};
    TraceState now{true, true, true, 2s};
    EXPECT_EQ(end_of_trace(now, limits), "the client disconnected");
    EXPECT_EQ(end_of_trace(now, {}), "stopped");
    now.unwanted = false;
    EXPECT_EQ(end_of_trace(now, limits), "lagtrapd is stopping");
    now.stopping = false;
    EXPECT_EQ(end_of_trace(now, limits), "the process exited");
    now.exited = false;
    EXPECT_EQ(end_of_trace(now, limits), "time limit reached");
    now.elapsed -= 1ns;
    EXPECT_EQ(end_of_trace(now, limits), "");
}

TEST(EndOfTrace, DoesNotComeWithoutALimit) {
    EXPECT_EQ(end_of_trace({false, false, false, 24h}, {}), "");
}

class Answer : public AnswerLines {
  public:
    bool say(const std::string& /*line*/) override { return true; }
    void end(const std::string& /*line*/) override {}
    [[nodiscard]] bool is_unwanted() const override { return unwanted; }
    bool unwanted = false;
};

class ATraceWatch : public testing::Test {
  protected:
    Answer answer_;
    TracedProcess process_ = TracedProcess::open(static_cast<std::uint32_t>(::getpid())).value();
    std::atomic<bool> stop_{false};
    const TraceWatch watch_{answer_, process_, stop_, monotonic_ns(), {}};
};

TEST_F(ATraceWatch, LooksUntilNobodyWantsMore) {
    int looks = 0;
    EXPECT_EQ(watch_.run([&]() -> std::string {
        answer_.unwanted = ++looks == 3;
        return {};
    }),
              "stopped");
    EXPECT_EQ(looks, 3);
}

TEST_F(ATraceWatch, EndsForAReasonOfTheTrace) {
    stop_.store(true);
    EXPECT_EQ(watch_.run([] { return std::string("call count reached"); }), "call count reached");
}

}  // namespace
}  // namespace lagtrap::daemon::trace_watch_test
