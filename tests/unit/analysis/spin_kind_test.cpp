#include "analysis/spin_kind.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::spin_kind_test {
namespace {

using test::MadeRecording;
using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

// The kind of time that a thread spends in the function.
SpinKind kind_in(const std::string& function) {
    TraceBuilder builder(100 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(2 * ms, 20 * ms, 0, 10, 10, {"main", "take", function});
    const auto recording = builder.decode();
    return recording ? spin_of_stack(*recording, recording->threads.front().samples.front().stack)
                     : SpinKind::None;
}

TEST(SpinKinds, MethodsOfSpinLocksAreKnownByTheirNames) {
    for (const char* function :
         {"pthread_spin_lock", "spin_lock", "my::SpinLock::lock()", "folly::MicroSpinLock::lock()",
          "tbb::detail::d1::spin_mutex::lock()", "absl::base_internal::SpinLock::SlowLock()",
          "Spinlock<true>::lock(int)"})
        EXPECT_EQ(kind_in(function), SpinKind::SpinLock) << function;
    for (const char* function :
         {"my::SpinLock::unlock()", "std::mutex::lock()", "lock", "spin", "Spinning::rotate()"})
        EXPECT_EQ(kind_in(function), SpinKind::None) << function;
}

SpinKind kind_of(const std::vector<std::string>& stack) {
    MadeRecording made;
    const StackId id = made.stack(stack);
    return spin_of_stack(made.recording, id);
}

TEST(SpinKinds, FunctionsThatSpinAreKnownByTheirKind) {
    for (const char* function : {"__do_sys_sched_yield", "__x64_sys_sched_yield",
                                 "__arm64_sys_sched_yield", "do_sched_yield"})
        EXPECT_EQ(kind_of({"main", std::string("k:") + function}), SpinKind::Yield) << function;
    for (const char* function : {"futex_wait", "futex_wait_setup", "futex_wait_queue_me"})
        EXPECT_EQ(kind_of({"main", std::string("k:") + function}), SpinKind::Futex) << function;
    for (const char* function :
         {"native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath",
          "queued_spin_lock_slowpath", "queued_read_lock_slowpath", "queued_write_lock_slowpath",
          "osq_lock", "mutex_spin_on_owner", "rwsem_spin_on_owner", "rwsem_optimistic_spin"})
        EXPECT_EQ(kind_of({"main", std::string("k:") + function}), SpinKind::KernelLock)
            << function;
    for (const char* function : {"sched_yield", "runtime.osyield", "runtime.osyield_no_g"})
        EXPECT_EQ(kind_of({"main", function}), SpinKind::Yield) << function;
    for (const char* function :
         {"pthread_spin_lock", "runtime.procyield", "runtime.procyield.abi0", "s_lock", "ut_delay",
          "spin_lock", "spinlock_lock", "spinlock_acquire"})
        EXPECT_EQ(kind_of({"main", function}), SpinKind::SpinLock) << function;
    for (const char* function :
         {"k:osq_lock_more", "k:do_sched_yield2", "k:spin_lock", "osq_lock", "sched_yield_more"})
        EXPECT_EQ(kind_of({"main", function}), SpinKind::None) << function;
    EXPECT_EQ(kind_of({}), SpinKind::None);
}

TEST(SpinKinds, TheInnermostFunctionCountsAndTheKernelsFirst) {
    EXPECT_EQ(kind_of({"main", "spin_lock", "sched_yield"}), SpinKind::Yield);
    EXPECT_EQ(kind_of({"main", "spin_lock", "callback"}), SpinKind::None);
    EXPECT_EQ(kind_of({"main", "spin_lock", "callback@plt"}), SpinKind::SpinLock);
    EXPECT_EQ(kind_of({"main", "spin_lock", "?:/usr/bin/app"}), SpinKind::SpinLock);
    EXPECT_EQ(kind_of({"main", "spin_lock", "k:osq_lock"}), SpinKind::KernelLock);
    EXPECT_EQ(kind_of({"main", "spin_lock", "k:schedule"}), SpinKind::SpinLock);
    EXPECT_EQ(kind_of({"main", "k:do_sched_yield", "k:schedule"}), SpinKind::Yield);
    EXPECT_EQ(kind_of({"main", "k:futex_wait", "k:osq_lock"}), SpinKind::KernelLock);
}

TEST(SpinKinds, EachKindHasItsWords) {
    EXPECT_EQ(to_text(SpinKind::Yield), "calling sched_yield over and over");
    EXPECT_EQ(to_text(SpinKind::Futex), "trying a futex over and over");
    EXPECT_EQ(to_text(SpinKind::SpinLock), "in a loop around a lock");
    EXPECT_EQ(to_text(SpinKind::Memory), "checking the same memory over and over");
    EXPECT_EQ(to_text(SpinKind::LockWord), "checking the same memory over and over");
    EXPECT_EQ(to_text(SpinKind::KernelLock), "on a kernel lock");
    EXPECT_EQ(to_text(SpinKind::None), "");
}

}  // namespace
}  // namespace lagtrap::analysis::spin_kind_test
