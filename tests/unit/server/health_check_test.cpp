#include "server/api/health_check.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <semaphore>

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

// Each question has its own time: that an earlier one took long does not shorten it.
TEST(HealthCheck, AQuestionThatIsNotLateIsWaitedFor) {
    using Clock = std::chrono::steady_clock;
    constexpr auto timeout = 200ms;
    std::atomic<bool> stands{true};
    std::counting_semaphore<> begun{0}, released{0};
    HealthCheck check(
        [&] {
            if (stands) {
                begun.release();
                released.acquire();
            }
            return true;
        },
        timeout);
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Silent);
    begun.acquire();
    stands = false;
    released.release();
    while (check.ask() == HealthCheck::Answer::Silent) {
    }
    stands = true;
    const auto asked_at = Clock::now();
    auto first = std::async(std::launch::async, [&] { return check.ask(); });
    begun.acquire();
    EXPECT_EQ(check.ask(), HealthCheck::Answer::Silent);
    EXPECT_GE(Clock::now() - asked_at, timeout) << "silent, although it was not late";
    stands = false;
    released.release();
    (void)first.get();
}

// What the store said before the question does not answer it.
TEST(HealthCheck, AnAnswerIsNotOlderThanItsQuestion) {
    std::atomic<bool> well{true};
    std::counting_semaphore<> begun{0}, released{0};
    HealthCheck check(
        [&] {
            const bool answer = well;
            begun.release();
            released.acquire();
            return answer;
        },
        10min);
    auto first = std::async(std::launch::async, [&] { return check.ask(); });
    begun.acquire();
    well = false;
    auto second = std::async(std::launch::async, [&] { return check.ask(); });
    released.release(2);
    EXPECT_EQ(second.get(), HealthCheck::Answer::Unhealthy);
    (void)first.get();
}

}  // namespace
}  // namespace lagtrap::server::health_check_test
