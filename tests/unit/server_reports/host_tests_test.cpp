#include "server/reports/host_tests.hpp"

#include <cstdint>

#include <gmock/gmock.h>

namespace lagtrap::server::reports::host_tests_test {
namespace {

constexpr std::size_t min_runs = 5;

// Runs with the quantity that is tested, by host.
struct Runs {
    RunWeights weights;
    std::vector<double> values;

    void add(std::uint32_t host, bool delayed, std::vector<double> more) {
        for (const double value : more) {
            HostRuns& runs = weights.hosts[host];
            (delayed ? runs.delayed : runs.normal)
                .push_back(static_cast<std::uint32_t>(values.size()));
            values.push_back(value);
        }
    }
    [[nodiscard]] double p_value() const { return rank_p_value(weights, values, min_runs); }
};

TEST(HostTests, DelayedRunsOfAHostHaveMore) {
    Runs runs;
    runs.add(1, true, {11, 12, 13, 14, 15});
    runs.add(1, false, {1, 2, 3, 4, 5});
    EXPECT_LT(runs.p_value(), 0.02);
}

TEST(HostTests, ASlowerHostWithMoreDelaysSaysNothing) {
    Runs runs;
    runs.add(1, true, {100, 101, 102, 103, 104});
    runs.add(1, false, {104, 102, 101, 100, 103});
    runs.add(2, false, {1, 2, 3, 4, 5});
    EXPECT_GT(runs.p_value(), 0.3);
}

TEST(HostTests, MeansOfHostsWithOneKindOfRunsAreCompared) {
    Runs runs;
    for (std::uint32_t host = 0; host < 5; ++host) {
        runs.add(host, true, {20.0 + host, 30.0 + host});
        runs.add(10 + host, false, {1.0 + host, 2.0 + host});
    }
    EXPECT_LT(runs.p_value(), 0.02);
}

}  // namespace
}  // namespace lagtrap::server::reports::host_tests_test
