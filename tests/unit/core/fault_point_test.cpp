#include "core/fault_point.hpp"

#include <gtest/gtest.h>

#ifdef LAGTRAP_FAULT_POINTS

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/files.hpp"

namespace lagtrap::fault_point_test {
namespace {

Status step() {
    FAULT_POINT("test.step");
    return success();
}

// Runs the tests `name` of this program with `fault`, which is read before main(); returns the wait
// status.
int run_with(const std::string& fault, const std::string& name) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("LAGTRAP_FAULT", fault.c_str(), 1);
        if (::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(98);
        ::execl("/proc/self/exe", "core_tests", ("--gtest_filter=FaultPoint." + name).c_str(),
                nullptr);
        ::_exit(99);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

bool is_asked() { return ::getenv("LAGTRAP_FAULT") != nullptr; }

// The tests above also run these two, with a fault in their environment.
TEST(FaultPoint, FailsAlwaysIfAsked) {
    for (int i = 0; i < 2; ++i) {
        const Status failed = step();
        ASSERT_EQ(failed.ok(), !is_asked());
        if (failed) continue;
        EXPECT_EQ(failed.error().system_errno, ENOSPC);
        EXPECT_EQ(failed.error().message, "fault injected at test.step: No space left on device");
    }
}

TEST(FaultPoint, FailsTheSecondTimeIfAsked) {
    EXPECT_TRUE(step().ok());
    EXPECT_EQ(step().ok(), !is_asked());
    EXPECT_TRUE(step().ok());
}

TEST(FaultPoint, DoesNothingUnasked) { EXPECT_TRUE(step().ok()); }

TEST(FaultPoint, InjectsWhatTheEnvironmentNames) {
    EXPECT_EQ(run_with("test.step:error:ENOSPC", "FailsAlwaysIfAsked"), 0);
    EXPECT_EQ(run_with("test.step@2:error:EIO", "FailsTheSecondTimeIfAsked"), 0);
    EXPECT_EQ(run_with("test.other:error:EIO", "DoesNothingUnasked"), 0);
    const int killed = run_with("test.step:kill", "DoesNothingUnasked");
    EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << killed;
}

TEST(FaultPoint, RefusesWhatItDoesNotKnow) {
    for (const char* wrong : {"test.step", ":kill", "test.step:die", "test.step:error:EWHAT",
                              "test.step@0:kill", "x@y:kill"}) {
        const int status = run_with(wrong, "DoesNothingUnasked");
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << wrong;
    }
}

TEST(FaultPoint, NamesStepsByTheirFilesToo) {
    EXPECT_EQ(fault_point_suffix("/x.y/session.json"), ".json");
    EXPECT_EQ(fault_point_suffix("5f-01.lagtrap.tar.zst"), ".lagtrap.tar.zst");
    EXPECT_EQ(fault_point_suffix("blob"), "");
}

}  // namespace
}  // namespace lagtrap::fault_point_test

#endif
