// Here the merge helper is sleep(1), which adds its arguments up.
#include "daemon/merges/merge_process.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <csignal>

#include <gtest/gtest.h>

namespace lagtrap::daemon::merge_process_test {
namespace {

constexpr int no_output = -1;

Result<MergeProcess> sleep(const std::string& seconds) {
    return MergeProcess::start("/bin/sleep", {seconds, "0", true, {}}, no_output);
}

TEST(MergeProcess, RaisesItsPriorityStepByStep) {
    auto process = sleep("1000");
    ASSERT_TRUE(process) << process.error().message;
    int steps = 0;
    while (process->raise_priority()) ++steps;
    EXPECT_EQ(steps, 19);
    process->kill();
    const int wait_status = process->wait_for_end();
    ASSERT_TRUE(WIFSIGNALED(wait_status));
    EXPECT_EQ(WTERMSIG(wait_status), SIGKILL);
}

TEST(MergeProcess, ShowsItsEnd) {
    auto process = sleep("0");
    ASSERT_TRUE(process) << process.error().message;
    const UniqueFd end = process->take_end();
    pollfd ended{end.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 60'000), 1);
    const int wait_status = process->wait_for_end();
    ASSERT_TRUE(WIFEXITED(wait_status));
    EXPECT_EQ(WEXITSTATUS(wait_status), 0);
}

TEST(MergeProcess, AProgramThatIsNotThereIsAnError) {
    EXPECT_FALSE(MergeProcess::start("/nonexistent/program", {}, no_output));
}

}  // namespace
}  // namespace lagtrap::daemon::merge_process_test
