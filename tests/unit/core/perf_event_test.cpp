#include "core/perf_event.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

namespace lagtrap::perf_event_test {
namespace {

// Counts this thread's own time, which any user may.
perf_event_attr own_time() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    return attributes;
}

TEST(PerfEvent, CountsAndIsClosedInOtherPrograms) {
    const UniqueFd event = open_perf_event(own_time(), 0, -1);
    if (!event.valid() && (errno == EACCES || errno == EPERM || errno == ENOSYS))
        GTEST_SKIP() << "perf events are forbidden here (kernel.perf_event_paranoid)";
    ASSERT_TRUE(event.valid());
    EXPECT_EQ(::fcntl(event.get(), F_GETFD), FD_CLOEXEC);
    std::uint64_t count_ns = 0;
    while (count_ns == 0)
        ASSERT_EQ(::read(event.get(), &count_ns, sizeof count_ns),
                  static_cast<ssize_t>(sizeof count_ns));
}

TEST(PerfEvent, ARefusalHasTheErrorOfTheKernel) {
    errno = 0;
    EXPECT_FALSE(open_perf_event(own_time(), -1, -1).valid()) << "of no process and no CPU";
    EXPECT_NE(errno, 0);
}

}  // namespace
}  // namespace lagtrap::perf_event_test
