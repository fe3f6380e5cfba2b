// The CPU time of another process.
#include "daemon/processes/process_cpu_time.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lagtrap::daemon::process_cpu_time_test {
namespace {

using std::chrono::milliseconds;

TEST(ProcessCpuTimeTest, GrowsWithWhatTheProcessDoes) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        for (;;) asm volatile("");
    const auto pid = static_cast<std::uint32_t>(child);
    const auto before = process_cpu_time(pid);
    ASSERT_TRUE(before);
    auto after = before;
    while (after && *after < *before + milliseconds(20)) after = process_cpu_time(pid);
    EXPECT_TRUE(after);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(process_cpu_time(pid));
}

}  // namespace
}  // namespace lagtrap::daemon::process_cpu_time_test
