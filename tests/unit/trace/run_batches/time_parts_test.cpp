#include "trace/run_batches/time_parts.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::time_parts_test {
namespace {

constexpr std::uint64_t max = UINT64_MAX;

TimeParts parts_of(std::int64_t on_cpu_ns, std::int64_t runnable_ns, std::uint64_t throttled_ns) {
    lagtrap_time_parts record{};
    record.on_cpu_ns = static_cast<std::uint64_t>(on_cpu_ns);
    record.runnable_ns = static_cast<std::uint64_t>(runnable_ns);
    record.throttled_ns = throttled_ns;
    record.blocked_ns[LAGTRAP_WAIT_LOCK] = 5;
    record.blocked_ns[LAGTRAP_WAIT_STOPPED] = 7;
    return time_parts(record);
}

TEST(TimeParts, HaveNamesForTheClassesOfWaits) {
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_OTHER), "other");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_LOCK), "lock");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_EVENTS), "events");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_INPUT), "input");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_OUTPUT), "output");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_SOCKET), "socket");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_SLEEP), "sleep");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_CHILD), "child");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_FILE_LOCK), "file-lock");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_SEMAPHORE), "semaphore");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_DISK), "disk");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_PAGE), "page-fault");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_STOPPED), "stopped");
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_CLASSES), "other");
    EXPECT_EQ(wait_class_name(UINT32_MAX), "other");
    for (std::uint32_t one = 0; one < LAGTRAP_WAIT_CLASSES; ++one)
        EXPECT_EQ(wait_class_of(wait_class_name(one)), one);
    EXPECT_EQ(wait_class_of("Lock"), std::uint32_t{LAGTRAP_WAIT_OTHER});
}

TEST(TimeParts, AreThoseOfTheRecord) {
    const TimeParts parts = parts_of(100, 40, 30);
    EXPECT_EQ(parts.on_cpu_ns, 100U);
    EXPECT_EQ(parts.runnable_ns, 40U);
    EXPECT_EQ(parts.throttled_ns, 30U);
    EXPECT_EQ(parts.blocked_ns[LAGTRAP_WAIT_LOCK], 5U);
    EXPECT_EQ(parts.blocked_ns[LAGTRAP_WAIT_STOPPED], 7U);
    EXPECT_EQ(parts.blocked_total_ns(), 12U);
    EXPECT_EQ(parts.total_ns(), 152U);
    EXPECT_EQ(parts_of(100, 40, 41).throttled_ns, 40U);
}

TEST(TimeParts, ThatAreNegativeAreTakenFromTheOthers) {
    TimeParts parts = parts_of(100, -3, 2);
    EXPECT_EQ(parts.on_cpu_ns, 97U);
    EXPECT_EQ(parts.runnable_ns, 0U);
    EXPECT_EQ(parts.throttled_ns, 0U);
    parts = parts_of(-3, 40, 40);
    EXPECT_EQ(parts.on_cpu_ns, 0U);
    EXPECT_EQ(parts.runnable_ns, 37U);
    EXPECT_EQ(parts.throttled_ns, 37U);
    parts = parts_of(2, -3, 0);
    EXPECT_EQ(parts.on_cpu_ns, 0U);
    EXPECT_EQ(parts.runnable_ns, 0U);
    parts = parts_of(0, 0, 0);
    EXPECT_EQ(parts.on_cpu_ns + parts.runnable_ns, 0U);
}

TEST(TimeParts, AddUpToAtMostTheLargestNumber) {
    TimeParts parts;
    parts.blocked_ns[0] = max - 1;
    parts.blocked_ns[1] = 1;
    EXPECT_EQ(parts.blocked_total_ns(), max);
    parts.blocked_ns[1] = 2;
    EXPECT_EQ(parts.blocked_total_ns(), max);
    EXPECT_EQ(parts.total_ns(), max);
    parts = {};
    parts.on_cpu_ns = max - 2;
    parts.runnable_ns = 1;
    EXPECT_EQ(parts.total_ns(), max - 1);
    parts.runnable_ns = 3;
    EXPECT_EQ(parts.total_ns(), max);
}

}  // namespace
}  // namespace lagtrap::trace::time_parts_test
