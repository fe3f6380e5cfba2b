// Where a thread spun instead of waiting.
#include <algorithm>

#include <gtest/gtest.h>

#include "analysis/spinning.hpp"
#include "analysis/time_split.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::spinning_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

// How long a thread spins that is seen in sched_yield() `count` times, a millisecond apart.
std::uint64_t spun_ns(std::uint64_t count) {
    TraceBuilder builder(100 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(2 * ms, 20 * ms, 0, 10, 10, {"main", "encode"});
    builder.samples(20 * ms, (20 + count) * ms, 0, 10, 10,
                    {"main", "take", "sched_yield", "k:__do_sys_sched_yield"});
    builder.samples((20 + count) * ms, 60 * ms, 0, 10, 10, {"main", "encode"});
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    const std::uint64_t begin_ns = recording->begin_ns;
    auto intervals = intervals_of_thread(*recording, 10, {begin_ns + 2 * ms, begin_ns + 60 * ms});
    mark_spinning(*recording, intervals);
    std::uint64_t spun_ns = 0;
    for (const Interval& interval : intervals)
        if (interval.spin == SpinKind::Yield) spun_ns += interval.length_ns();
    return spun_ns;
}

TEST(Spinning, three_samples_in_a_row_are_enough) {
    EXPECT_EQ(spun_ns(2), 0);
    EXPECT_EQ(spun_ns(3), 3 * ms);
    EXPECT_EQ(spun_ns(20), 20 * ms);
}

// The kind of time that a thread spends in the function.
SpinKind kind_in(const std::string& function) {
    TraceBuilder builder(100 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(2 * ms, 20 * ms, 0, 10, 10, {"main", "take", function});
    const auto recording = builder.decode();
    return recording ? spin_of_stack(*recording, recording->threads.front().samples.front().stack)
                     : SpinKind::None;
}

TEST(Spinning, methods_of_spin_locks_are_known_by_their_names) {
    for (const char* function :
         {"pthread_spin_lock", "spin_lock", "my::SpinLock::lock()", "folly::MicroSpinLock::lock()",
          "tbb::detail::d1::spin_mutex::lock()", "absl::base_internal::SpinLock::SlowLock()",
          "Spinlock<true>::lock(int)"})
        EXPECT_EQ(kind_in(function), SpinKind::SpinLock) << function;
    for (const char* function :
         {"my::SpinLock::unlock()", "std::mutex::lock()", "lock", "spin", "Spinning::rotate()"})
        EXPECT_EQ(kind_in(function), SpinKind::None) << function;
}

}  // namespace
}  // namespace lagtrap::analysis::spinning_tests
