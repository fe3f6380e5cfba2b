#include "binaries/reader/asking_threads.hpp"

#include <gtest/gtest.h>

namespace lagtrap::binaries::asking_threads_test {
namespace {

using namespace std::chrono_literals;

TEST(AskingThreads, HaveTheUsualPriorityUnlessSet) {
    AskingThreads threads(5);
    threads.set_nice(7, 19);
    EXPECT_EQ(threads.nice_of(7), 19);
    EXPECT_EQ(threads.nice_of(8), 5);
    threads.set_nice(7, 5);
    EXPECT_EQ(threads.nice_of(7), 5);
}

TEST(AskingThreads, CpuTimeCountsFromTheFirstQuestion) {
    AskingThreads threads(0);
    threads.add_cpu_time(7, 3ns);
    EXPECT_EQ(threads.cpu_time_of(7), 0ns);
    threads.add_cpu_time(7, 4ns);
    threads.add_cpu_time(8, 5ns);
    threads.add_cpu_time(7, 6ns);
    EXPECT_EQ(threads.cpu_time_of(7), 10ns);
    EXPECT_EQ(threads.cpu_time_of(8), 0ns);
}

}  // namespace
}  // namespace lagtrap::binaries::asking_threads_test
