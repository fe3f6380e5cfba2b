#include "bpf/stack_id.h"

#include <gtest/gtest.h>

namespace lagtrap::daemon::stack_id_test {
namespace {

// Like two workers of one program, which differ in their process number and in their address within
// the innermost function.
TEST(StackId, ProcessesWhoseNumbersAndAddressesDifferByTheSameBitsHaveTheirOwn) {
    constexpr __u64 callers[] = {0x40624e, 0x406260, 0x4028d0};
    for (__u64 bits = 1; bits < 4096; ++bits) {
        const __u64 pid = 30'295, other_pid = pid ^ bits;
        for (const unsigned shift : {0U, 1U}) {
            const __u64 stack[] = {0x40656a, callers[0], callers[1], callers[2]};
            const __u64 other[] = {stack[0] ^ bits << shift, callers[0], callers[1], callers[2]};
            for (const __u32 frames : {1U, 4U})
                ASSERT_NE(lagtrap_stack_id(pid << shift, stack, frames),
                          lagtrap_stack_id(other_pid << shift, other, frames))
                    << bits;
        }
    }
}

TEST(StackId, IsThatOfTheSameFrames) {
    const __u64 stack[] = {1, 2, 3};
    EXPECT_EQ(lagtrap_stack_id(7, stack, 3), lagtrap_stack_id(7, stack, 3));
    EXPECT_NE(lagtrap_stack_id(7, stack, 3), lagtrap_stack_id(7, stack, 2));
    EXPECT_NE(lagtrap_stack_id(7, stack, 3), lagtrap_stack_id(8, stack, 3));
    EXPECT_NE(lagtrap_stack_id(7, stack, 0), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::stack_id_test
