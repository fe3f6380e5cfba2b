#include "daemon/processes/process_units.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::process_units_test {
namespace {

TEST(ProcessUnits, AreAskedForOnceAndForgottenWithTheProcess) {
    int asked = 0;
    ProcessUnits units([&asked](std::uint32_t pid) {
        ++asked;
        return "unit" + std::to_string(pid);
    });
    units.follow({1, 2});
    units.follow({2, 3});
    EXPECT_EQ(units.by_pid(), (std::map<std::uint32_t, std::string>{{2, "unit2"}, {3, "unit3"}}));
    EXPECT_EQ(asked, 3);
    units.follow({1});
    EXPECT_EQ(asked, 4);
}

TEST(ProcessUnits, OnlySoManyAreAskedForAtOnce) {
    ProcessUnits units([](std::uint32_t) { return std::string("unit"); });
    std::set<std::uint32_t> pids;
    for (std::uint32_t pid = 1; pid <= ProcessUnits::asked_limit + 10; ++pid) pids.insert(pid);
    units.follow(pids);
    EXPECT_EQ(units.by_pid().size(), ProcessUnits::asked_limit);
    units.follow(pids);
    EXPECT_EQ(units.by_pid().size(), pids.size());
}

}  // namespace
}  // namespace lagtrap::daemon::process_units_test
