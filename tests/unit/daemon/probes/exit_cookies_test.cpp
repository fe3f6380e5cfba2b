#include "daemon/probes/exit_cookies.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::exit_cookies_test {
namespace {

using binaries::FunctionExit;
using binaries::JumpCondition;

TEST(ExitCookies, HoldTheConditionOfTheJump) {
    const auto how = [](JumpCondition condition) {
        FunctionExit exit;
        exit.condition = condition;
        return exit_cookie_of(exit, 99);
    };
    EXPECT_EQ(how(JumpCondition::Always), 0U) << "without a site";
    EXPECT_EQ(how(JumpCondition::Overflow), std::uint64_t{1} << 32);
    EXPECT_EQ(how(JumpCondition::Greater), std::uint64_t{16} << 32);
    EXPECT_EQ(how(JumpCondition::RcxZero), std::uint64_t{LAGTRAP_EXIT_RCX_ZERO} << 32);
    EXPECT_EQ(how(JumpCondition::EcxZero), std::uint64_t{LAGTRAP_EXIT_ECX_ZERO} << 32);
}

TEST(ExitCookies, HoldTheSiteOfATargetAndWhetherTheExitIsShared) {
    FunctionExit exit;
    exit.of_others_too = true;
    EXPECT_EQ(exit_cookie_of(exit, 5), std::uint64_t{1} << 39);
    exit.by_target = true;
    exit.condition = JumpCondition::Overflow;
    EXPECT_EQ(exit_cookie_of(exit, 5),
              std::uint64_t{19} << 32 | std::uint64_t{1} << 39 | std::uint64_t{5} << 41);
}

TEST(ExitCookies, TargetsAreInARegisterOrInMemory) {
    FunctionExit exit;
    exit.target = {-8, 5, binaries::no_jump_register, 3, true};
    exit.within[0] = {-20, 30};
    exit.within[3] = {40, 50};
    const lagtrap_exit_site site = exit_site_of(exit);
    EXPECT_EQ(site.target.place, LAGTRAP_ARGUMENT_MEMORY);
    EXPECT_EQ(site.target.number, -8);
    EXPECT_EQ(site.target.bytes, 8U);
    EXPECT_EQ(site.target.base, 5U);
    EXPECT_EQ(site.target.index, LAGTRAP_NO_REGISTER);
    EXPECT_EQ(site.target.scale_shift, 3U);
    EXPECT_EQ(site.within[0].begin, -20);
    EXPECT_EQ(site.within[0].end, 30);
    EXPECT_EQ(site.within[1].end, 0);
    EXPECT_EQ(site.within[3].begin, 40);
    EXPECT_EQ(site.within[3].end, 50);
    EXPECT_EQ(target_argument({0, 2, 1, 0, false}).place, LAGTRAP_ARGUMENT_REGISTER);
    EXPECT_EQ(target_argument({0, 2, 1, 0, false}).index, 1U);
}

}  // namespace
}  // namespace lagtrap::daemon::exit_cookies_test
