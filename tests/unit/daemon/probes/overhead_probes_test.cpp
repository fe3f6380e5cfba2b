// The estimated cost of a probe by the instruction it is on.
#include "daemon/probes/overhead_probes.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::overhead_probes_test {
namespace {

#if defined(__x86_64__)
TEST(ProbeKindOf, LooksAtTheInstruction) {
    for (const char* simple : {"\x90\xc3", "\x66\x90", "\x0f\x1f", "\x55\x48", "\x41\x57",
                               "\xe8\x12", "\xe9\x12", "\xeb\x12", "\x74\x12", "\x0f\x84"})
        EXPECT_EQ(probe_kind_of(simple), ProbeKind::Simple) << testing::PrintToString(simple);
    for (const char* stepped : {"\xc3\x90", "\x48\x89", "\xf3\x0f", "\x41\x89", "\x48\x83"})
        EXPECT_EQ(probe_kind_of(stepped), ProbeKind::Stepped) << testing::PrintToString(stepped);
}

TEST(ProbeKindOf, TakesTheCostlierWhereNothingIsKnown) {
    EXPECT_EQ(probe_kind_of(""), ProbeKind::Stepped);
    EXPECT_EQ(probe_kind_of("\x90"), ProbeKind::Stepped);
}
#endif

TEST(ProbeCosts, TheMeanIsThatOfTheMarkers) {
    const ProbeCosts costs{600, 10'000, 400, 200, true};
    EXPECT_EQ(costs.mean({}), 600);
    EXPECT_EQ(costs.mean({ProbeKind::Simple, ProbeKind::Return}), 500);
    EXPECT_EQ(costs.mean({ProbeKind::Simple, ProbeKind::Stepped}), 5300);
    EXPECT_EQ(costs.mean({ProbeKind::Tracepoint}), 200);
}

}  // namespace
}  // namespace lagtrap::daemon::overhead_probes_test
