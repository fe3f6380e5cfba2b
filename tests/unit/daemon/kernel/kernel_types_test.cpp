#include "daemon/kernel/kernel_types.hpp"

#include <bpf/btf.h>

#include <gtest/gtest.h>

namespace lagtrap::daemon::kernel_types_test {
namespace {

TEST(KernelTypes, AreSharedWhileSomebodyHoldsThem) {
    const auto types = kernel_types();
    if (!types) GTEST_SKIP() << "this kernel has no BTF";
    EXPECT_GT(btf__find_by_name_kind(types.get(), "task_struct", BTF_KIND_STRUCT), 0);
    EXPECT_EQ(kernel_types(), types);
}

}  // namespace
}  // namespace lagtrap::daemon::kernel_types_test
