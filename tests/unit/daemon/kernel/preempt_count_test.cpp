#include "daemon/kernel/preempt_count.hpp"

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "daemon/kernel/kernel_types.hpp"

namespace lagtrap::daemon::preempt_count_test {
namespace {

// Addresses of the kernel's variables, by name; empty if this user may not see them.
std::map<std::string, std::int64_t> kernel_variables() {
    std::map<std::string, std::int64_t> variables;
    std::ifstream symbols("/proc/kallsyms");
    for (std::string line; std::getline(symbols, line);) {
        std::istringstream words(line);
        std::uint64_t address = 0;
        std::string type, name;
        words >> std::hex >> address >> type >> name;
        if (address != 0 && (name == "runqueues" || name == "__preempt_count"))
            variables[name] = static_cast<std::int64_t>(address);
    }
    return variables;
}

TEST(PreemptCount, IsWhereTheKernelsSymbolsSay) {
    const auto distance = preempt_count_after_run_queue();
    EXPECT_TRUE(!distance || kernel_types());
    if (!distance) return;
    EXPECT_EQ(*distance % 4, 0);
    const auto variables = kernel_variables();
    if (variables.size() != 2) return;
    EXPECT_EQ(*distance, variables.at("__preempt_count") - variables.at("runqueues"));
}

}  // namespace
}  // namespace lagtrap::daemon::preempt_count_test
