#include "trace/merge/run_sorter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::run_sorter_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

lagtrap_run run_of(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t depth = 0) {
    lagtrap_run run{};
    run.begin_ns = begin_ns;
    run.end_ns = end_ns;
    run.depth = depth;
    return run;
}

using Order = std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>>;

class SortedRuns : public testing::Test {
  protected:
    // With room for `in_memory` runs.
    Order sorted(const std::vector<lagtrap_run>& runs, std::size_t in_memory) {
        RunSorter sorter(folder_.path(), in_memory * sizeof(lagtrap_run));
        for (const lagtrap_run& run : runs) EXPECT_TRUE(sorter.add(run).ok());
        EXPECT_TRUE(sorter.finish().ok());
        Order order;
        for (;;) {
            const auto next = sorter.peek();
            EXPECT_TRUE(next.ok());
            if (!next || *next == nullptr) break;
            order.emplace_back((*next)->begin_ns, (*next)->end_ns, (*next)->depth);
            sorter.pop();
        }
        EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
        return order;
    }

    TemporaryDirectory folder_;
};

TEST_F(SortedRuns, ComeByBeginThenTheLongestThenTheOutermost) {
    const std::vector<lagtrap_run> runs{run_of(5, 9), run_of(1, 2), run_of(1, 4, 1), run_of(1, 4),
                                        run_of(3, 4)};
    for (const std::size_t in_memory : {1, 2, 100})
        EXPECT_THAT(sorted(runs, in_memory),
                    ElementsAre(std::tuple(1, 4, 0), std::tuple(1, 4, 1), std::tuple(1, 2, 0),
                                std::tuple(3, 4, 0), std::tuple(5, 9, 0)))
            << in_memory;
}

TEST_F(SortedRuns, NoneIsLostIfTheyDoNotFitIntoMemory) {
    std::vector<lagtrap_run> runs;
    for (std::uint64_t i = 0; i < 5000; ++i) runs.push_back(run_of((i * 7919) % 5000, 10'000));
    const Order order = sorted(runs, 1000);
    ASSERT_EQ(order.size(), runs.size());
    for (std::uint64_t i = 0; i < order.size(); ++i) ASSERT_EQ(std::get<0>(order[i]), i);
}

TEST_F(SortedRuns, ThatAreAlikeKeepTheirOrder) {
    for (const std::size_t in_memory : {1, 2, 100}) {
        RunSorter sorter(folder_.path(), in_memory * sizeof(lagtrap_run));
        for (std::uint32_t pid = 1; pid <= 5; ++pid) {
            lagtrap_run run = run_of(1, 4);
            run.begin_pid = pid;
            EXPECT_TRUE(sorter.add(run).ok());
        }
        EXPECT_TRUE(sorter.finish().ok());
        for (std::uint32_t pid = 1; pid <= 5; ++pid) {
            const auto next = sorter.peek();
            ASSERT_TRUE(next.ok());
            ASSERT_NE(*next, nullptr);
            EXPECT_EQ((*next)->begin_pid, pid) << in_memory;
            sorter.pop();
        }
    }
}

TEST_F(SortedRuns, MayBeNone) { EXPECT_THAT(sorted({}, 10), IsEmpty()); }

}  // namespace
}  // namespace lagtrap::trace::run_sorter_test
