#include "daemon/processes/traced_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include <gtest/gtest.h>

#include "core/text.hpp"

namespace lagtrap::daemon::traced_process_test {
namespace {

TEST(TracedProcess, HasANameUntilItEnds) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_NAME, "a\nb");
        if (::write(ready[1], "x", 1) == 1) ::pause();
        ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const auto process = TracedProcess::open(static_cast<std::uint32_t>(child));
    ASSERT_TRUE(process.ok()) << process.error().message;
    EXPECT_FALSE(process->has_ended());
    EXPECT_EQ(process->name(), printable("a\nb"));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(process->has_ended());
    EXPECT_EQ(process->name(), "");
    for (const int end : ready) ::close(end);
}

TEST(TracedProcess, IsNoneThatIsNotThere) {
    const auto process = TracedProcess::open(4'000'000);
    ASSERT_FALSE(process.ok());
    EXPECT_EQ(process.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(process.error().message, "no process 4000000 (thread ids are not accepted)");
}

}  // namespace
}  // namespace lagtrap::daemon::traced_process_test
