#include "daemon/processes/thread_alive.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

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

TEST(ThreadAlive, AnExitedProcessIsNotAliveUntilItIsWaitedFor) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(0);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    const auto pid = static_cast<std::uint32_t>(child);
    EXPECT_FALSE(thread_alive(pid, pid, monotonic_ns() + 1'000'000'000));
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(ThreadAlive, ANameMayLookLikeFields) {
    std::thread([] {
        ASSERT_EQ(::pthread_setname_np(::pthread_self(), "a) Z 1 2 (b"), 0);
        const auto pid = static_cast<std::uint32_t>(::getpid());
        const auto tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
        EXPECT_TRUE(thread_alive(pid, tid, monotonic_ns() + 1'000'000'000));
    }).join();
}

}  // namespace
}  // namespace lagtrap::daemon::thread_alive_test
