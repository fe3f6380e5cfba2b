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

TEST(Pairing, FewHitsAreNotEnough) {
    EXPECT_THAT(pairing_findings(counters_of(7, 0, 0), {.open = 7}), IsEmpty());
    EXPECT_THAT(kinds_of(pairing_findings(counters_of(8, 0, 0), {.open = 8})),
                ElementsAre(Kind::NoEnd, Kind::NotBelieved));
    EXPECT_THAT(pairing_findings(counters_of(0, 7, 0), {}), IsEmpty());
    EXPECT_THAT(kinds_of(pairing_findings(counters_of(0, 8, 0), {})), ElementsAre(Kind::NoBegin));
    EXPECT_FALSE(believes_deadlines(counters_of(8, 0, 0), {}));
    EXPECT_TRUE(believes_deadlines(counters_of(7, 0, 0), {}));
    EXPECT_TRUE(believes_deadlines(counters_of(8, 1, 1), {}));
}

TEST(Pairing, MoreThanAHundredthDoesNotPair) {
    EventCounters counters = counters_of(1000, 1000, 990);
    counters.markers[LAGTRAP_PLACE_BEGIN].unmatched = 10;
    counters.markers[LAGTRAP_PLACE_END].unmatched = 10;
    EXPECT_THAT(pairing_findings(counters, {}), IsEmpty());
    counters.markers[LAGTRAP_PLACE_BEGIN].unmatched = 11;
    counters.markers[LAGTRAP_PLACE_END].unmatched = 12;
    const auto findings = pairing_findings(counters, {});
    ASSERT_THAT(kinds_of(findings), ElementsAre(Kind::BeginsUnended, Kind::EndsUnbegun));
    EXPECT_THAT(findings[0].sentence, HasSubstr("11 of 1000 begins"));
    EXPECT_THAT(findings[1].sentence, HasSubstr("12 of 1000 ends had no begin"));
    counters.expired = 1;
    EXPECT_THAT(kinds_of(pairing_findings(counters, {.expired = 1})),
                ElementsAre(Kind::BeginsUnended, Kind::NotBelieved))
        << "the begins of two ends were lost";
}

TEST(Pairing, HitsOutsideTheScopeMayBeAFewLessThanAll) {
    EventCounters counters = counters_of(50, 50, 0);
    counters.out_of_scope = 93;
    const auto findings = pairing_findings(counters, {});
    ASSERT_THAT(kinds_of(findings), ElementsAre(Kind::OutOfScope));
    EXPECT_THAT(findings[0].sentence, HasSubstr("100 hits of its markers"));
    counters.out_of_scope = 92;
    EXPECT_THAT(pairing_findings(counters, {}), IsEmpty());
    counters.out_of_scope = 100;
    EXPECT_THAT(pairing_findings(counters, {.open = 1}), IsEmpty()) << "one is in its scope";
    counters.histogram[40] = 1;
    EXPECT_THAT(pairing_findings(counters, {}), IsEmpty());
}

TEST(Pairing, AnEighthOfTheTableIsCrowded) {
    EventCounters counters = counters_of(5000, 5000, 5000);
    counters.lost = 2;
    EXPECT_THAT(pairing_findings(counters, {.open = 100, .fit = 800}), IsEmpty());
    const auto findings = pairing_findings(counters, {.open = 101, .fit = 800});
    ASSERT_THAT(kinds_of(findings), ElementsAre(Kind::Crowded));
    EXPECT_THAT(findings[0].sentence,
                HasSubstr("101 of its runs are open, and 800 fit for all events: 2 of its runs"));
    counters.lost = 0;
    EXPECT_THAT(pairing_findings(counters, {.open = 101, .fit = 800}), IsEmpty());
}

TEST(Pairing, TheSentenceCountsDelaysAndMissedEnds) {
    EventCounters counters = counters_of(1000, 1000, 1000);
    counters.delays = 7;
    counters.unended_late = 1;
    const auto findings = pairing_findings(counters, {.stale = 1});
    ASSERT_THAT(kinds_of(findings), ElementsAre(Kind::NotBelieved)) << "a fourth is too many";
    EXPECT_THAT(findings[0].sentence, HasSubstr("7 runs ended, and the ends of 2 were not seen"));
    counters.delays = 8;
    EXPECT_THAT(pairing_findings(counters, {.stale = 1}), IsEmpty());
}

TEST(Pairing, ASemaphoreInTwoSegmentsIsNamed) {
    EventPlan plan;
    plan.markers.resize(2);
    EXPECT_FALSE(marker_finding(plan));
    plan.markers[1].marker.provider = "shop";
    plan.markers[1].marker.name = "order_end";
    plan.markers[1].marker.binary = "/usr/bin/shop";
    plan.markers[1].places.semaphore_writable_twice = true;
    const auto finding = marker_finding(plan);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->kind, Kind::SemaphoreUnseen);
    EXPECT_THAT(finding->sentence, HasSubstr("hit shop:order_end: two segments of /usr/bin/shop"));
}

}  // namespace
}  // namespace lagtrap::daemon::pairing_test
