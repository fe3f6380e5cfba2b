#include "binaries/reader/left_processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::binaries::left_processes_test {
namespace {

pid_t child_that_waits() {
    const pid_t child = ::fork();
    while (child == 0) ::pause();
    return child;
}

TEST(LeftProcesses, AreCountedUntilTheyHaveEnded) {
    LeftProcesses left;
    const pid_t first = child_that_waits(), second = child_that_waits();
    ASSERT_TRUE(first > 0 && second > 0);
    left.add(first);
    left.add(second);
    EXPECT_EQ(left.count(), 2U);
    ::kill(first, SIGKILL);
    while (left.count() > 1) std::this_thread::yield();
    EXPECT_LT(::waitpid(first, nullptr, WNOHANG), 0) << "nothing is left of it";
    ::kill(second, SIGKILL);
    while (left.count() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace lagtrap::binaries::left_processes_test
