#include "core/timed_call.hpp"

#include <future>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::timed_call_test {
namespace {

using namespace std::chrono_literals;

TEST(CallWithin, GivesWhatTheCallGives) {
    const auto given = call_within<int>(60s, "count", []() -> Result<int> { return 7; });
    ASSERT_TRUE(given);
    EXPECT_EQ(*given, 7);
    const auto failed = call_within<int>(
        60s, "count", []() -> Result<int> { return make_error(ErrorKind::NotFound, "nothing"); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::NotFound);
}

// Calls that block until the test releases them.
class SlowCalls {
  public:
    Result<int> make() {
        auto ended = std::make_shared<std::promise<void>>();
        ended_.push_back(ended->get_future());
        return call_within<int>(1ms, "look", [go = go_, ended]() -> Result<int> {
            go.wait();
            ended->set_value_at_thread_exit();
            return 1;
        });
    }
    void end() {
        release_.set_value();
        for (auto& one : ended_) one.wait();
    }

  private:
    std::promise<void> release_;
    std::shared_future<void> go_ = release_.get_future().share();
    std::vector<std::future<void>> ended_;
};

TEST(CallWithin, LeavesBehindWhatIsSlow) {
    SlowCalls calls;
    const auto given = calls.make();
    ASSERT_FALSE(given);
    EXPECT_EQ(given.error().kind, ErrorKind::Timeout);
    EXPECT_EQ(given.error().message, "look: no answer from its file system within 1 s");
    calls.end();
}

TEST(CallWithin, RefusesMoreThanTheLimit) {
    SlowCalls calls;
    for (unsigned call = 0; call < left_calls_limit; ++call) (void)calls.make();
    const auto refused = call_within<int>(60s, "look", []() -> Result<int> { return 1; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Busy);
    calls.end();
}

}  // namespace
}  // namespace lagtrap::timed_call_test
