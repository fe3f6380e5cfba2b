// Warnings about begins and ends that do not match, and when a run over its threshold counts as
// slow.
#include "daemon/events/pairing.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::pairing_test {
namespace {

using Kind = PairingFinding::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

EventCounters counters_of(std::uint64_t begins, std::uint64_t ends, std::uint64_t runs) {
    EventCounters counters;
    counters.markers[LAGTRAP_PLACE_BEGIN].hits = begins;
    counters.markers[LAGTRAP_PLACE_END].hits = ends;
    counters.histogram[40] = runs;
    return counters;
}

std::vector<Kind> kinds_of(const std::vector<PairingFinding>& findings) {
    std::vector<Kind> kinds;
    for (const PairingFinding& finding : findings) kinds.push_back(finding.kind);
    return kinds;
}

TEST(Pairing, NothingIsWrongWithWhatPairs) {
    EXPECT_THAT(pairing_findings(counters_of(0, 0, 0), {}), IsEmpty());
    EXPECT_THAT(pairing_findings(counters_of(1000, 1000, 1000), {}), IsEmpty());
    EXPECT_THAT(pairing_findings(counters_of(3, 0, 0), {.open = 3}), IsEmpty())
        << "three may be busy";
}

TEST(Pairing, AnEndThatNeverComes) {
    const auto findings = pairing_findings(counters_of(20, 0, 0), {.open = 20});
    EXPECT_THAT(kinds_of(findings), ElementsAre(Kind::NoEnd, Kind::NotBelieved));
    EXPECT_THAT(findings[0].sentence, HasSubstr("20 begins but no end"));
    EXPECT_THAT(kinds_of(pairing_findings(counters_of(0, 20, 0), {})), ElementsAre(Kind::NoBegin));
}

TEST(Pairing, UnequalBeginsAndEnds) {
    EventCounters counters = counters_of(1000, 900, 900);
    counters.markers[LAGTRAP_PLACE_BEGIN].unmatched = 100;
    EXPECT_THAT(kinds_of(pairing_findings(counters, {})), ElementsAre(Kind::BeginsUnended));
    counters = counters_of(1000, 1100, 1000);
    counters.markers[LAGTRAP_PLACE_END].unmatched = 100;
    EXPECT_THAT(kinds_of(pairing_findings(counters, {})), ElementsAre(Kind::EndsUnbegun));
    counters.lost = 100;
    EXPECT_THAT(pairing_findings(counters, {}), IsEmpty()) << "their begins found no room";
    counters = counters_of(100'000, 100'000, 99'990);
    counters.markers[LAGTRAP_PLACE_END].unmatched = 10;
    EXPECT_THAT(pairing_findings(counters, {}), IsEmpty()) << "it ran when it was armed";
}

TEST(Pairing, OnlyOthersThanTheScopeNames) {
    EventCounters counters = counters_of(50, 50, 0);
    counters.out_of_scope = 99;
    EXPECT_THAT(kinds_of(pairing_findings(counters, {})), ElementsAre(Kind::OutOfScope));
}

TEST(Pairing, ATableThatOneEventFills) {
    EventCounters counters = counters_of(50'000, 40'000, 40'000);
    counters.lost = 3'000;
    EXPECT_THAT(kinds_of(pairing_findings(counters, {.open = 7'000, .fit = 7'168})),
                ElementsAre(Kind::Crowded));
    EXPECT_THAT(pairing_findings(counters, {.open = 10, .fit = 7'168}), IsEmpty())
        << "another one did";
}

TEST(Pairing, RunsThatPassedTheThresholdAndLostTheirEndMakeOthersDoubtful) {
    EventCounters counters = counters_of(1000, 1000, 1000);
    counters.delays = 3;
    EXPECT_TRUE(believes_deadlines(counters, {}));
    counters.unended_late = 1;
    EXPECT_TRUE(believes_deadlines(counters, {})) << "once is nothing";
    counters.unended_late = 2;
    EXPECT_FALSE(believes_deadlines(counters, {}));
    counters.delays = 8;
    EXPECT_TRUE(believes_deadlines(counters, {})) << "most of them were slow";
    EXPECT_FALSE(believes_deadlines(counters, {.open = 5, .stale = 5}));
}

}  // namespace
}  // namespace lagtrap::daemon::pairing_test
