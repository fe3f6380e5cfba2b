// Whether a thread's control group, or one around it, has a CPU quota.
#include <gtest/gtest.h>

#include "tests/unit/bpf/native_programs.h"

namespace lagtrap::native {

constexpr std::uint64_t quota_ns = 50'000'000, no_quota = ~0ULL;

TEST(Quotas, are_those_of_the_group_and_of_groups_around_it) {
    EXPECT_TRUE(native_has_quota(quota_ns, no_quota));
    EXPECT_TRUE(native_has_quota(no_quota, quota_ns));
    EXPECT_FALSE(native_has_quota(no_quota, no_quota));
}

}  // namespace lagtrap::native
