#include "daemon/threads/at_once.hpp"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::at_once_test {
namespace {

TEST(DoAtOnce, CallsEachNumberOnce) {
    for (const std::size_t count : {0U, 1U, 2U, 33U}) {
        std::vector<std::atomic<int>> calls(count);
        do_at_once(count, [&](std::size_t number) { ++calls.at(number); });
        for (std::size_t number = 0; number < count; ++number)
            EXPECT_EQ(calls[number], 1) << number << " of " << count;
    }
}

TEST(DoAtOnce, OneTaskNeedsNoOtherThread) {
    std::thread::id thread;
    do_at_once(1, [&](std::size_t) { thread = std::this_thread::get_id(); });
    EXPECT_EQ(thread, std::this_thread::get_id());
}

}  // namespace
}  // namespace lagtrap::daemon::at_once_test
