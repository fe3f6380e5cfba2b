#include "daemon/calls/batch_costs.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::batch_costs_test {
namespace {

TEST(BatchCosts, MediansOfOddAndEvenNumbers) {
    EXPECT_EQ(median_ns({}), 0U);
    EXPECT_EQ(median_ns({5}), 5U);
    EXPECT_EQ(median_ns({9, 1, 5}), 5U);
    EXPECT_EQ(median_ns({9, 1, 5, 7}), 7U);
}

TEST(BatchCosts, InterruptedCallsAreNotUsual) {
    EXPECT_EQ(usual_ns({}), 0U);
    EXPECT_EQ(usual_ns({100, 110, 90}), 100U);
    EXPECT_EQ(usual_ns({100, 100, 150}), 350U / 3) << "1.5 medians still count";
    EXPECT_EQ(usual_ns({100, 100, 151}), 100U);
    EXPECT_EQ(usual_ns({100, 100, 10}), 70U) << "fast ones count";
    EXPECT_EQ(usual_ns({0, 0, 0}), 0U);
}

// Two calls of each function, one after the other: function N takes N * 100 ns, then N ns pass.
calls::Tree tree_of(std::uint64_t rounds) {
    calls::Tree tree;
    tree.calls.emplace_back();
    std::uint64_t at_ns = 1'000;
    for (std::uint32_t function = 1; function <= probe_pairs; ++function)
        for (std::uint64_t round = 0; round < rounds; ++round) {
            calls::Call call;
            call.function = function;
            call.parent = 0;
            call.begin_ns = at_ns;
            call.end_ns = at_ns += function * 100;
            at_ns += function;
            tree.calls.push_back(call);
        }
    return tree;
}

TEST(BatchCosts, EachFunctionHasItsDurationAndTheGapBehindIt) {
    const auto costs = batch_costs(tree_of(2), 2);
    ASSERT_TRUE(costs);
    for (std::size_t pair = 0; pair < probe_pairs; ++pair) {
        EXPECT_EQ((*costs)[pair].inside_ns, (pair + 1) * 100) << pair;
        EXPECT_EQ((*costs)[pair].gap_ns, pair + 1) << pair;
    }
}

TEST(BatchCosts, TheLastCallHasNoGap) {
    const auto costs = batch_costs(tree_of(1), 1);
    ASSERT_TRUE(costs);
    EXPECT_EQ(costs->back().inside_ns, 600U);
    EXPECT_EQ(costs->back().gap_ns, 0U);
}

TEST(BatchCosts, CallsThatOverlapHaveNoGap) {
    calls::Tree tree = tree_of(1);
    tree.calls[1].end_ns = tree.calls[2].begin_ns + 50;
    EXPECT_EQ(batch_costs(tree, 1)->front().gap_ns, 0U);
}

TEST(BatchCosts, ADamagedTreeSaysNothing) {
    EXPECT_FALSE(batch_costs(tree_of(2), 3));
    EXPECT_FALSE(batch_costs(tree_of(2), 1));
    EXPECT_FALSE(batch_costs({}, 1));
    calls::Tree other = tree_of(1);
    other.calls[3].function = 0;
    EXPECT_FALSE(batch_costs(other, 1));
    other.calls[3].function = probe_pairs + 1;
    EXPECT_FALSE(batch_costs(other, 1));
    for (const calls::CallEnd end :
         {calls::CallEnd::TailCall, calls::CallEnd::Left, calls::CallEnd::ThreadEnd}) {
        calls::Tree left = tree_of(1);
        left.calls.back().end = end;
        EXPECT_FALSE(batch_costs(left, 1));
    }
}

BatchCosts all_of(std::uint64_t inside_ns, std::uint64_t gap_ns) {
    BatchCosts costs;
    costs.fill({inside_ns, gap_ns});
    return costs;
}

TEST(MeasuredCosts, AreMediansOfTheLastBatches) {
    MeasuredCosts measured;
    EXPECT_TRUE(measured.empty());
    measured.add(all_of(9'000, 9'000));
    EXPECT_FALSE(measured.empty());
    EXPECT_EQ(measured.table(0, 1)[0][0].inside_ns, 9'000U);
    for (std::size_t batch = 0; batch < MeasuredCosts::batches; ++batch)
        measured.add(all_of(100 + batch, 10 + batch));
    EXPECT_EQ(measured.table(0, 1)[1][2].inside_ns, 102U) << "the first batch is forgotten";
    EXPECT_EQ(measured.table(0, 1)[1][2].around_ns, 12U);
}

TEST(MeasuredCosts, AreWithoutTheFunctionsWorkAndWithInterruptions) {
    MeasuredCosts measured;
    measured.add(all_of(500, 80));
    EXPECT_EQ(measured.table(300, 1)[0][0].inside_ns, 200U);
    EXPECT_EQ(measured.table(300, 1.5)[0][0].inside_ns, 300U);
    EXPECT_EQ(measured.table(300, 1.5)[0][0].around_ns, 120U) << "no work happens in the gap";
    EXPECT_EQ(measured.table(501, 1.5)[0][0].inside_ns, 0U);
}

TEST(MeasuredCosts, PairsAreByEntryThenByExit) {
    BatchCosts batch;
    for (std::size_t pair = 0; pair < probe_pairs; ++pair) batch[pair] = {pair + 1, 10 * pair};
    MeasuredCosts measured;
    measured.add(batch);
    const CallCosts::Table table = measured.table(0, 1);
    EXPECT_EQ(table[CallCosts::SimpleEntry][CallCosts::ReturnProbe].inside_ns, 1U);
    EXPECT_EQ(table[CallCosts::SimpleEntry][CallCosts::SteppedExit].inside_ns, 2U);
    EXPECT_EQ(table[CallCosts::SimpleEntry][CallCosts::SimpleExit].inside_ns, 3U);
    EXPECT_EQ(table[CallCosts::SteppedEntry][CallCosts::ReturnProbe].inside_ns, 4U);
    EXPECT_EQ(table[CallCosts::SteppedEntry][CallCosts::SteppedExit].inside_ns, 5U);
    EXPECT_EQ(table[CallCosts::SteppedEntry][CallCosts::SimpleExit].inside_ns, 6U);
    EXPECT_EQ(table[CallCosts::SteppedEntry][CallCosts::SimpleExit].around_ns, 50U);
}

}  // namespace
}  // namespace lagtrap::daemon::batch_costs_test
