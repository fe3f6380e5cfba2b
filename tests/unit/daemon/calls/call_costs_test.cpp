#include "daemon/calls/call_costs.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::call_costs_test {
namespace {

using binaries::FunctionExit;
using binaries::JumpCondition;

PlannedFunction function(std::string first_code, std::vector<FunctionExit> exits) {
    PlannedFunction planned;
    planned.first_code = std::move(first_code);
    planned.exits = std::move(exits);
    return planned;
}

FunctionExit exit_by(JumpCondition condition, bool by_target = false) {
    FunctionExit exit;
    exit.condition = condition;
    exit.by_target = by_target;
    return exit;
}

#if defined(__x86_64__)
TEST(CallCosts, DependOnTheFirstInstruction) {
    EXPECT_EQ(CallCosts::kind_of(function("\x55\x48", {})).entry, CallCosts::SimpleEntry);
    EXPECT_EQ(CallCosts::kind_of(function("\x48\x83\xec\x08", {})).entry, CallCosts::SteppedEntry);
}
#endif

TEST(CallCosts, DependOnHowTheFunctionEnds) {
    const auto exit_of = [](std::vector<FunctionExit> exits) {
        return CallCosts::kind_of(function("\x55", std::move(exits))).exit;
    };
    const FunctionExit unconditional = exit_by(JumpCondition::Always);
    EXPECT_EQ(exit_of({}), CallCosts::ReturnProbe);
    EXPECT_EQ(exit_of({unconditional}), CallCosts::SteppedExit);
    FunctionExit jump = unconditional;
    jump.condition = JumpCondition::NotLess;
    EXPECT_EQ(exit_of({jump}), CallCosts::SimpleExit);
    EXPECT_EQ(exit_of({jump, unconditional}), CallCosts::SteppedExit) << "the dearer of both";
    jump.by_target = true;
    EXPECT_EQ(exit_of({jump}), CallCosts::SteppedExit);
}

TEST(CallCosts, OfASteppedProbeAreHalfOfTwo) {
    CallCosts costs;
    costs.inside[CallCosts::SteppedEntry][CallCosts::SteppedExit] = {3'000, 2'000};
    EXPECT_EQ(costs.of_stepped_probe_ns(), 2'500U);
    const CallCosts::Kind kind{CallCosts::SteppedEntry, CallCosts::SteppedExit};
    EXPECT_EQ(costs.of(kind).inside_ns, 3'000U);
}

}  // namespace
}  // namespace lagtrap::daemon::call_costs_test
