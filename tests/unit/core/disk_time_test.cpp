#include "core/disk_time.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::disk_time_test {
namespace {

// linux/ioprio.h: this thread's class and level.
long own_priority() {
    constexpr int who_process = 1;
    return ::syscall(SYS_ioprio_get, who_process, 0);
}

TEST(DiskTime, IsTheLeastOfTheUsualClassForThisThreadAlone) {
    const long before = own_priority();
    std::thread([] {
        use_least_disk_time();
        const long priority = own_priority();
        EXPECT_EQ(priority >> 13, 2) << "best effort";
        EXPECT_EQ(priority & 7, 7);
    }).join();
    EXPECT_EQ(own_priority(), before);
}

}  // namespace
}  // namespace lagtrap::disk_time_test
