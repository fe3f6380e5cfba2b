#include "daemon/events/detaching.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::daemon::detaching_test {
namespace {

TEST(Detaching, IsIdleOnlyAfterAWaitForAllThatBegan) {
    Detaching detaching;
    EXPECT_TRUE(detaching.idle());
    std::atomic<bool> may_end{false};
    std::atomic<int> ended{0};
    const auto end_later = [&] {
        while (!may_end.load()) std::this_thread::yield();
        ++ended;
    };
    detaching.start({}, end_later);
    detaching.start({}, end_later);
    EXPECT_FALSE(detaching.idle());
    may_end.store(true);
    detaching.wait();
    EXPECT_EQ(ended.load(), 2);
    EXPECT_TRUE(detaching.idle());
}

TEST(Detaching, WaitsAtItsEnd) {
    std::atomic<int> ended{0};
    {
        Detaching detaching;
        detaching.start({}, [&] { ++ended; });
    }
    EXPECT_EQ(ended.load(), 1);
}

}  // namespace
}  // namespace lagtrap::daemon::detaching_test
