#include "daemon/calls/tree_costs.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::tree_costs_test {
namespace {

// Of functions with a return probe, and of others.
CallCosts costs(std::uint64_t returning_ns, std::uint64_t other_ns) {
    CallCosts all;
    for (auto& entry : all.inside) {
        entry.fill({other_ns, 0});
        entry[CallCosts::ReturnProbe] = {0, returning_ns};
    }
    return all;
}

calls::Tree tree_of(std::initializer_list<std::uint32_t> functions) {
    calls::Tree tree;
    for (const std::uint32_t function : functions) tree.calls.emplace_back().function = function;
    return tree;
}

TEST(TreeCosts, AreComparedForTheFunctionsOfTheTree) {
    PlannedFunction returning, other;
    other.exits.emplace_back();
    TreeCosts tree_costs(costs(100, 1'000));
    tree_costs.add(returning);
    tree_costs.add(other);
    EXPECT_EQ(tree_costs.scale_of(tree_of({0, 1})), 1);
    tree_costs.set_now(costs(300, 1'000));
    EXPECT_EQ(tree_costs.scale_of(tree_of({0})), 3);
    EXPECT_EQ(tree_costs.scale_of(tree_of({1})), 1);
    EXPECT_EQ(tree_costs.scale_of(tree_of({0, 0, 0, 0, 0, 1, 1})), 3'500.0 / 2'500.0);
    EXPECT_EQ(tree_costs.at_start().of(returning).around_ns, 100U);
}

TEST(TreeCosts, AreNotScaledIfUnknown) {
    TreeCosts tree_costs(costs(0, 0));
    tree_costs.add({});
    tree_costs.set_now(costs(10, 10));
    EXPECT_EQ(tree_costs.scale_of(tree_of({0})), 1);
    EXPECT_EQ(tree_costs.scale_of({}), 1);
}

}  // namespace
}  // namespace lagtrap::daemon::tree_costs_test
