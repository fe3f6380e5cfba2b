#include "daemon/kernel/process_priority.hpp"

#include <sys/resource.h>

#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::daemon::process_priority_test {
namespace {

int nice_of_this_thread() { return ::getpriority(PRIO_PROCESS, 0); }

// The result depends on the right to raise a priority, so it is compared with what the kernel
// allows.
TEST(ProcessPriority, IsRaisedExceptWhileItIsNormal) {
    std::thread([] {
        const bool may_raise = ::setpriority(PRIO_PROCESS, 0, -20) == 0;
        (void)::setpriority(PRIO_PROCESS, 0, 0);
        const int before = nice_of_this_thread();
        raise_priority();
        const int raised = may_raise ? -20 : before;
        EXPECT_EQ(nice_of_this_thread(), raised);
        {
            const NormalPriority normal;
            EXPECT_EQ(nice_of_this_thread(), may_raise ? 0 : before);
        }
        EXPECT_EQ(nice_of_this_thread(), raised);
    }).join();
}

}  // namespace
}  // namespace lagtrap::daemon::process_priority_test
