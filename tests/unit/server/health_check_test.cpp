#include "server/api/health_check.hpp"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace lagtrap::server::health_check_test {
namespace {

using namespace std::chrono_literals;

TEST(HealthCheck, SaysWhatTheStoreSays) {
    std::atomic<bool> well{true};
    HealthCheck check([&] { return well.load(); }, 10s);
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Healthy);
    well = false;
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Unhealthy);
    well = true;
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Healthy);
}

TEST(HealthCheck, DoesNotWaitForAStoreThatStandsStill) {
    std::promise<void> released;
    auto gate = released.get_future().share();
    HealthCheck check(
        [gate] {
            gate.wait();
            return true;
        },
        1ms);
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Silent);
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Silent);
    released.set_value();
    auto answer = check.ask();
    while (answer == HealthCheck::Answer::Silent) answer = check.ask();
    EXPECT_EQ(answer, HealthCheck::Answer::Healthy);
}

}  // namespace
}  // namespace lagtrap::server::health_check_test
