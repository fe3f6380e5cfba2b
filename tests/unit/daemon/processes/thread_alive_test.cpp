#include "daemon/processes/thread_alive.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include "core/clock.hpp"

namespace lagtrap::daemon::thread_alive_test {
namespace {

TEST(ThreadAlive, TellsAThreadFromALaterOneOfItsNumber) {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    EXPECT_TRUE(thread_alive(pid, pid, monotonic_ns()));
    EXPECT_FALSE(thread_alive(pid, pid, 1))
        << "a run of the first nanosecond after boot is not this process's";
    EXPECT_FALSE(thread_alive(0x3ffffff, 0x3ffffff, monotonic_ns()));
}

}  // namespace
}  // namespace lagtrap::daemon::thread_alive_test
