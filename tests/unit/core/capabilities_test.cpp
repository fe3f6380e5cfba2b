#include "core/capabilities.hpp"

#include <linux/capability.h>

#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::capabilities_test {
namespace {

// A set of this thread's capabilities according to the kernel.
std::uint64_t set_of_thread(const std::string& name) {
    std::ifstream status("/proc/thread-self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ":"))
            return std::stoull(line.substr(name.size() + 1), nullptr, 16);
    return ~std::uint64_t{0};
}

TEST(Capabilities, AreThoseThatTheKernelShows) {
    const auto own = own_capabilities();
    ASSERT_TRUE(own);
    EXPECT_EQ(own->effective, set_of_thread("CapEff"));
    EXPECT_EQ(own->permitted, set_of_thread("CapPrm"));
    EXPECT_EQ(own->inheritable, set_of_thread("CapInh"));
    EXPECT_EQ(own->has(CAP_CHECKPOINT_RESTORE),
              (own->effective >> CAP_CHECKPOINT_RESTORE & 1) != 0);
}

TEST(Capabilities, AreGivenUpByTheThreadThatSaysSo) {
    const std::uint64_t before = set_of_thread("CapEff");
    std::thread([&] {
        EXPECT_TRUE(set_own_capabilities({}));
        EXPECT_EQ(set_of_thread("CapEff"), 0U);
        EXPECT_EQ(set_of_thread("CapPrm"), 0U);
    }).join();
    EXPECT_EQ(set_of_thread("CapEff"), before);
}

}  // namespace
}  // namespace lagtrap::capabilities_test
