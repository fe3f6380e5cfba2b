// The thread without a ring of notices.
#include "daemon/events/breach_loop.hpp"

#include <functional>
#include <semaphore>

#include <gtest/gtest.h>

#include "core/clock.hpp"

namespace lagtrap::daemon::breach_loop_test {
namespace {

constexpr std::chrono::seconds long_enough{60};

class BreachLoopTest : public testing::Test, public BreachLoop::Work {
  protected:
    void look() override {
        after_look_();
        looked_.release();
    }
    bool sweep_part() override {
        swept_.release();
        return true;
    }
    void take_notice(const lagtrap_record*, std::size_t) override { FAIL() << "there is no ring"; }

    std::function<void()> after_look_ = [] {};
    std::counting_semaphore<> looked_{0}, swept_{0};
    BreachLoop loop_{*this};
};

TEST_F(BreachLoopTest, ChecksAtTheStartAndOnRequest) {
    loop_.start();
    EXPECT_TRUE(looked_.try_acquire_for(long_enough));
    EXPECT_FALSE(looked_.try_acquire());
    loop_.look_soon();
    EXPECT_TRUE(looked_.try_acquire_for(long_enough));
    loop_.stop();
    EXPECT_FALSE(looked_.try_acquire());
}

TEST_F(BreachLoopTest, ChecksAtTheTimeThatWasLastAskedFor) {
    std::uint64_t at_ns = 0;
    after_look_ = [&] {
        if (at_ns != 0) return loop_.look_at(LAGTRAP_NEVER_NS);
        const std::uint64_t now_ns = monotonic_ns();
        at_ns = now_ns + 20'000'000;
        loop_.look_at(now_ns + 1'000'000);
        loop_.look_at(at_ns);
    };
    loop_.start();
    EXPECT_TRUE(looked_.try_acquire_for(long_enough));
    EXPECT_TRUE(looked_.try_acquire_for(long_enough));
    EXPECT_GE(monotonic_ns(), at_ns);
    loop_.stop();
    EXPECT_FALSE(looked_.try_acquire());
}

TEST_F(BreachLoopTest, Sweeps) {
    loop_.start();
    EXPECT_TRUE(swept_.try_acquire_for(long_enough));
}

TEST_F(BreachLoopTest, MayBeStoppedWithoutAStart) {
    loop_.look_soon();
    loop_.stop();
    EXPECT_FALSE(looked_.try_acquire());
}

}  // namespace
}  // namespace lagtrap::daemon::breach_loop_test
