#include "daemon/calls/call_plan.hpp"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "daemon/calls/call_costs.hpp"
#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::call_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)
class CallPlanTest : public testing::Test {
  protected:
    CallPlanTest() {
        wishes_.pid = MadeUpProcess::pid;
        wishes_.function = "main";
        wishes_.depth = 1;
    }
    Result<CallPlan> plan() { return CallPlanner(process_, given_up_).plan(wishes_); }
    // As "0:main/1", with the number of its file and its level.
    static std::vector<std::string> names_of(const CallPlan& plan) {
        std::vector<std::string> names;
        for (const PlannedFunction& one : plan.functions)
            names.push_back(std::to_string(one.file) + ":" + one.name + "/" +
                            std::to_string(one.level));
        return names;
    }
    std::vector<std::string> planned() {
        const auto found = plan();
        return found ? names_of(*found) : std::vector<std::string>{found.error().message};
    }

    MadeUpProcess process_{{"/opt/shop/shop", "/opt/shop/libown.so"}};
    std::atomic<bool> given_up_{false};
    CallWishes wishes_;
};

TEST_F(CallPlanTest, FollowsCallsToTheDepth) {
    EXPECT_THAT(planned(), ElementsAre("0:main/0", "0:outermost_function/1"));
    wishes_.depth = 0;
    EXPECT_THAT(planned(), ElementsAre("0:main/0"));
    wishes_.function = "outermost_function";
    wishes_.depth = 9;
    EXPECT_THAT(planned(), ElementsAre("0:outermost_function/0"));
}

TEST_F(CallPlanTest, AFileIsMeantByItsPathOrElseByItsName) {
    wishes_.depth = 0;
    for (const auto& [binary, expected] :
         std::vector<std::pair<std::string, std::string>>{{"/opt/shop/libown.so", "1:main/0"},
                                                          {"/elsewhere/libown.so", "1:main/0"},
                                                          {"/opt/shop/shop", "0:main/0"},
                                                          {"/elsewhere/other", "0:main/0"}}) {
        wishes_.binary = binary;
        EXPECT_THAT(planned(), ElementsAre(expected)) << binary;
    }
}

TEST_F(CallPlanTest, AnExpressionChoosesAmongTheCallees) {
    wishes_.match = "^nothing$";
    EXPECT_THAT(planned(), ElementsAre("0:main/0")) << "the function itself is always watched";
    wishes_.match = "most";
    EXPECT_THAT(planned(), ElementsAre("0:main/0", "0:outermost_function/1"));
    wishes_.match = "^shop$";
    EXPECT_THAT(planned(), ElementsAre("0:main/0", "0:outermost_function/1")) << "its file's name";
    wishes_.match = "(";
    EXPECT_THAT(planned(), ElementsAre(HasSubstr("\"(\" is not a valid regular expression: ")));
}

TEST_F(CallPlanTest, ListedFunctionsAreWatchedWhoeverCallsThem) {
    wishes_.function = "outermost_function";
    wishes_.only = {"main"};
    EXPECT_THAT(planned(), ElementsAre("0:outermost_function/0", "0:main/1", "1:main/1"));
    wishes_.only = {"main", "missing"};
    EXPECT_THAT(planned(), ElementsAre("no function missing in any file loaded by the process"));
}

TEST_F(CallPlanTest, SaysWhereAFunctionWasSought) {
    wishes_.function = "missing";
    const auto found = plan();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(found.error().message,
                HasSubstr("no function missing in /opt/shop/shop or in the 1 other files loaded"));
    EXPECT_THAT(found.error().message, HasSubstr("list-markers --functions 7\""));
    process_.unreadable = {"/opt/shop/libown.so"};
    EXPECT_EQ(plan().error().kind, ErrorKind::NotFound) << "libraries may be unreadable";
    process_.unreadable = {"/opt/shop/shop"};
    EXPECT_EQ(plan().error().kind, ErrorKind::Denied) << "the program may not";
    wishes_.pid = 8;
    EXPECT_EQ(plan().error().message, "no process 8, or it is a kernel thread");
    wishes_.pid = MadeUpProcess::pid;
    given_up_ = true;
    EXPECT_EQ(plan().error().kind, ErrorKind::Timeout);
}

TEST_F(CallPlanTest, CalleesThatWereSeenAreAddedAtTheirLevel) {
    const auto of_main = plan();
    ASSERT_TRUE(of_main);
    const std::uint64_t main_at = MadeUpProcess::distance + of_main->functions[0].entry;
    wishes_.function = "outermost_function";
    CallPlanner planner(process_, given_up_);
    auto found = planner.plan(wishes_);
    ASSERT_TRUE(found);
    using Added = std::set<std::uint32_t>;
    EXPECT_EQ(planner.add({{main_at, 2}}, *found).value(), Added{}) << "below the depth";
    EXPECT_EQ(planner.add({{MadeUpProcess::distance - 1, 1}}, *found).value(), Added{});
    EXPECT_EQ(planner.add({{MadeUpProcess::distance + 0x10000, 1}}, *found).value(), Added{});
    EXPECT_EQ(found->functions.size(), 1U);
    EXPECT_EQ(planner.add({{main_at, 1}}, *found).value(), Added{1});
    EXPECT_EQ(planner.add({{main_at, 1}}, *found).value(), Added{}) << "it is known already";
    EXPECT_THAT(names_of(*found), ElementsAre("0:outermost_function/0", "0:main/1"));
    EXPECT_EQ(found->refused_count, 0U);
    EXPECT_THAT(found->refused, IsEmpty());
}

TEST(CallCosts, AreThoseOfTheEntryAndTheExits) {
    PlannedFunction function;
    function.first_code = std::string("\x55\x48\x89\xe5", 4);
    const auto kind = [&] {
        const auto found = CallCosts::kind_of(function);
        return std::pair<std::size_t, std::size_t>(found.entry, found.exit);
    };
    const auto pair = [](CallCosts::Entry entry, CallCosts::Exit exit) {
        return std::pair<std::size_t, std::size_t>(entry, exit);
    };
    EXPECT_EQ(kind(), pair(CallCosts::SimpleEntry, CallCosts::ReturnProbe));
    function.exits.resize(2);
    EXPECT_EQ(kind(), pair(CallCosts::SimpleEntry, CallCosts::SteppedExit)) << "returns";
    function.exits[0].condition = binaries::JumpCondition::Overflow;
    EXPECT_EQ(kind(), pair(CallCosts::SimpleEntry, CallCosts::SteppedExit)) << "one return";
    function.exits[1].condition = binaries::JumpCondition::Greater;
    EXPECT_EQ(kind(), pair(CallCosts::SimpleEntry, CallCosts::SimpleExit));
    function.exits[1].by_target = true;
    EXPECT_EQ(kind(), pair(CallCosts::SimpleEntry, CallCosts::SteppedExit));
    function.first_code = std::string("\x48\x89\xe5\x90", 4);
    EXPECT_EQ(kind(), pair(CallCosts::SteppedEntry, CallCosts::SteppedExit));
    CallCosts costs;
    costs.inside[CallCosts::SteppedEntry][CallCosts::SteppedExit] = {100, 300};
    EXPECT_EQ(costs.of_stepped_probe_ns(), 200U);
    EXPECT_EQ(costs.of(function).around_ns, 300U);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::call_plan_test
