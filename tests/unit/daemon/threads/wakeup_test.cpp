#include "daemon/threads/wakeup.hpp"

#include <poll.h>

#include <gtest/gtest.h>

namespace lagtrap::daemon::wakeup_test {
namespace {

bool is_readable(const Wakeup& wakeup) {
    pollfd waiting{wakeup.fd(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
}

TEST(Wakeup, IsReadableFromANotificationUntilItIsCleared) {
    const Wakeup wakeup;
    ASSERT_TRUE(wakeup.valid());
    EXPECT_FALSE(is_readable(wakeup));
    wakeup.notify();
    wakeup.notify();
    EXPECT_TRUE(is_readable(wakeup));
    wakeup.clear();
    EXPECT_FALSE(is_readable(wakeup));
    wakeup.clear();  // does not wait
}

}  // namespace
}  // namespace lagtrap::daemon::wakeup_test
