#include "trace/system_file/run_so_far.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::trace::run_so_far_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t begin_ns = 1'000;

// Counted from 1,100 to 2,000.
lagtrap_run_so_far record() {
    lagtrap_run_so_far record{};
    record.tid = 7;
    record.from_ns = 1'100;
    record.until_ns = 2'000;
    record.parts.on_cpu_ns = 300;
    record.parts.runnable_ns = 100;
    record.parts.throttled_ns = 40;
    record.parts.blocked_ns[LAGTRAP_WAIT_LOCK] = 500;
    record.earlier.on_cpu_ns = 60;
    return record;
}

lagtrap_wait wait(std::uint64_t at_ns, std::uint64_t length_ns) {
    lagtrap_wait wait{};
    wait.begin_ns = at_ns;
    wait.length_ns = length_ns;
    wait.wait_class = LAGTRAP_WAIT_LOCK;
    return wait;
}

TEST(RunSoFar, TimesAreOffsetsFromTheDelaysBegin) {
    const RunSoFar known = run_so_far(record(), begin_ns);
    EXPECT_TRUE(known.known());
    EXPECT_EQ(known.from_offset_ns, 100U);
    EXPECT_EQ(known.until_offset_ns, 1'000U);
    EXPECT_EQ(known.total_ns(), 900U);
    EXPECT_EQ(known.blocked_total_ns(), 500U);
    EXPECT_EQ(known.throttled_ns, 40U);
    EXPECT_EQ(known.earlier.on_cpu_ns, 60U);
    EXPECT_THAT(known.waits, IsEmpty());
    EXPECT_EQ(run_so_far(record(), 5'000).from_offset_ns, 0U);
    EXPECT_FALSE(RunSoFar{}.known());
}

TEST(RunSoFar, WaitsAreCutToTheCountedTimeAndInOrder) {
    lagtrap_run_so_far cut = record();
    cut.waits[0] = wait(1'900, 300);
    cut.waits[1] = wait(1'050, 150);
    cut.waits[2] = wait(1'500, 10);
    cut.waits[3] = wait(900, 200);  // of an earlier run
    cut.waits[4] = wait(2'000, 50);
    const RunSoFar known = run_so_far(cut, begin_ns);
    ASSERT_THAT(known.waits, SizeIs(3));
    EXPECT_EQ(known.waits[0].offset_ns, 100U);
    EXPECT_EQ(known.waits[0].length_ns, 100U);
    EXPECT_EQ(known.waits[1].offset_ns, 500U);
    EXPECT_EQ(known.waits[1].length_ns, 10U);
    EXPECT_EQ(known.waits[2].offset_ns, 900U);
    EXPECT_EQ(known.waits[2].length_ns, 100U);
}

TEST(RunSoFar, OnlyThreadsThatEndedAWaitHaveANameAndNumbers) {
    lagtrap_run_so_far woken = record();
    woken.waits[0] = wait(1'200, 10);
    woken.waits[0].waker = LAGTRAP_WAKER_THREAD;
    woken.waits[0].waker_pid = 20;
    woken.waits[0].waker_tid = 21;
    std::strcpy(woken.waits[0].waker_comm, "holder");
    woken.waits[1] = woken.waits[0];
    woken.waits[1].begin_ns = 1'300;
    woken.waits[1].waker = LAGTRAP_WAKER_INTERRUPT;
    const RunSoFar known = run_so_far(woken, begin_ns);
    ASSERT_THAT(known.waits, SizeIs(2));
    EXPECT_EQ(known.waits[0].waker_thread, "holder");
    EXPECT_EQ(known.waits[0].waker_pid, 20U);
    EXPECT_EQ(known.waits[0].waker_tid, 21U);
    EXPECT_EQ(known.waits[1].waker_thread, "");
    EXPECT_EQ(known.waits[1].waker_pid, 0U);
    EXPECT_EQ(known.waits[1].waker_tid, 0U);
}

TEST(RunSoFar, WakersHaveNames) {
    const std::pair<lagtrap_waker, const char*> names[] = {{LAGTRAP_WAKER_UNKNOWN, "unknown"},
                                                           {LAGTRAP_WAKER_THREAD, "thread"},
                                                           {LAGTRAP_WAKER_INTERRUPT, "interrupt"},
                                                           {LAGTRAP_WAKER_SOFTIRQ, "softirq"}};
    for (const auto& [waker, name] : names) {
        EXPECT_EQ(waker_name(waker), name);
        EXPECT_EQ(waker_of(name), waker);
    }
    EXPECT_EQ(waker_name(4), "unknown");
    EXPECT_EQ(waker_name(99), "unknown");
    EXPECT_EQ(waker_of("interrupt"), LAGTRAP_WAKER_INTERRUPT);
    EXPECT_EQ(waker_of("else"), LAGTRAP_WAKER_UNKNOWN);
}

TEST(TimePartsOfARecord, ASlightlyNegativePartIsBalancedByTheOther) {
    lagtrap_time_parts record{};
    record.on_cpu_ns = 100;
    record.runnable_ns = std::uint64_t{0} - 30;
    EXPECT_EQ(time_parts(record).on_cpu_ns, 70U);
    EXPECT_EQ(time_parts(record).runnable_ns, 0U);
    record.on_cpu_ns = std::uint64_t{0} - 20;
    record.runnable_ns = 50;
    record.throttled_ns = 40;
    EXPECT_EQ(time_parts(record).on_cpu_ns, 0U);
    EXPECT_EQ(time_parts(record).runnable_ns, 30U);
    EXPECT_EQ(time_parts(record).throttled_ns, 30U);
}

TEST(TimePartsOfARecord, SumsDoNotOverflow) {
    TimeParts parts;
    parts.on_cpu_ns = UINT64_MAX - 1;
    parts.blocked_ns[LAGTRAP_WAIT_DISK] = 5;
    EXPECT_EQ(parts.total_ns(), UINT64_MAX);
    parts.blocked_ns[LAGTRAP_WAIT_LOCK] = UINT64_MAX;
    EXPECT_EQ(parts.blocked_total_ns(), UINT64_MAX);
}

TEST(TimePartsOfARecord, ClassesOfWaitsHaveNames) {
    for (std::uint32_t kind = 0; kind < LAGTRAP_WAIT_CLASSES; ++kind)
        EXPECT_EQ(wait_class_of(wait_class_name(kind)), kind);
    EXPECT_EQ(wait_class_name(LAGTRAP_WAIT_PAGE), "page-fault");
    EXPECT_EQ(wait_class_name(99), "other");
    EXPECT_EQ(wait_class_of("else"), LAGTRAP_WAIT_OTHER);
}

}  // namespace
}  // namespace lagtrap::trace::run_so_far_test
