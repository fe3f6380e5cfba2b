#include "daemon/calls/cost_meter.hpp"

#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "daemon/kernel/libbpf_support.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::cost_meter_test {
namespace {

class CostMeterTest : public BpfFixture {};

#if defined(__x86_64__)
TEST_F(CostMeterTest, MeasuresEachKindOfProbe) {
    keep_libbpf_messages();
    CostMeters meters;
    for (const bool of_go : {false, true}) {
        const CostMeters::Use use(meters, of_go);
        const CallCosts costs = use.costs();
        EXPECT_TRUE(costs.measured) << of_go;
        for (const auto& by_exit : costs.inside)
            for (const calls::ProbeCost& cost : by_exit)
                EXPECT_GT(cost.inside_ns + cost.around_ns, 0U) << of_go;
    }
}

TEST_F(CostMeterTest, AMeterLivesAsLongAsSomebodyUsesIt) {
    keep_libbpf_messages();
    CostMeters meters;
    std::optional<CostMeters::Use> first(std::in_place, meters, false);
    std::optional<CostMeters::Use> second(std::in_place, meters, false);
    first.reset();
    EXPECT_TRUE(second->costs().measured);
    second.reset();
    const CostMeters::Use again(meters, false);
    EXPECT_TRUE(again.costs().measured);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::cost_meter_test
