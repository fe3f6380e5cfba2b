#include "daemon/kernel/context_switches.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::context_switches_test {
namespace {

// As the kernel counts them.
std::uint64_t counted() {
    std::ifstream file("/proc/stat");
    for (std::string word; file >> word;)
        if (word == "ctxt") {
            std::uint64_t switches = 0;
            file >> switches;
            return switches;
        }
    return 0;
}

TEST(ContextSwitches, AreThoseOfTheMachineSinceItsBoot) {
    const std::uint64_t before = counted();
    const std::uint64_t read = context_switches();
    const std::uint64_t after = counted();
    EXPECT_GT(read, 0U);
    EXPECT_GE(read, before);
    EXPECT_LE(read, after);
}

}  // namespace
}  // namespace lagtrap::daemon::context_switches_test
