#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::causes_contract_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CausesContract : public CausesStoreTest {
  protected:
    std::vector<CauseSighting> add_bundle(std::uint64_t number, const std::string& build,
                                          std::uint64_t begin_ns,
                                          const std::string& host = "alpha") {
        return add_delays(number, begin_ns, {.build = build, .host = host});
    }
};

TEST_F(CausesContract, CountsSearchedDelaysAndThoseOfEachCause) {
    const auto before = add_bundle(1, "v1", monday),
               after = add_bundle(2, "v2", monday + day, "beta");
    std::vector<CauseSighting> delays = before;
    delays.push_back(after[0]);
    const auto news = note({sighted("a", delays)});
    Filter filter;
    filter.event = "open";
    filter.from_ns = monday;
    filter.to_ns = monday + day;
    SearchedDelays searched = must(everything().delays().searched_delays(filter));
    EXPECT_EQ(searched.delays, 4U);
    EXPECT_THAT(searched.of_cause, ElementsAre(testing::Pair(news[0].id, 4U)));
    filter.from_ns = monday + day;
    filter.to_ns = monday + 2 * day;
    searched = must(everything().delays().searched_delays(filter));
    EXPECT_EQ(searched.delays, 4U);
    EXPECT_THAT(searched.of_cause, ElementsAre(testing::Pair(news[0].id, 1U)));
    filter.host = {"alpha"};
    EXPECT_EQ(must(everything().delays().searched_delays(filter)).delays, 0U);
    EXPECT_FALSE(everything().delays().searched_delays({}).ok());
    const RunGroups groups = must(everything().splits().run_groups(
        [] {
            Filter of_event;
            of_event.event = "open";
            return of_event;
        }(),
        true, 100));
    EXPECT_EQ(groups.runs_read, 8U);
    ASSERT_THAT(groups.groups, SizeIs(2));
    EXPECT_EQ(groups.groups[0].runs.delays, 4U);
}

TEST_F(CausesContract, CostsAreTheExtraTimeOfATime) {
    const auto before = add_bundle(1, "v1", monday),
               after = add_bundle(2, "v2", monday + day, "beta");
    std::vector<CauseSighting> delays = before;
    delays.push_back(after[0]);
    const auto news = note({sighted("a", delays), sighted("b", {after[0], after[1]})});
    const auto costs = must(everything().causes().costs({}, monday, monday + day, 10));
    ASSERT_THAT(costs, SizeIs(1));
    EXPECT_EQ(costs[0].cause, news[0].id);
    EXPECT_EQ(costs[0].event, "open");
    EXPECT_EQ(costs[0].title, "a waits");
    EXPECT_EQ(costs[0].delays, 4U);
    EXPECT_EQ(costs[0].excess_ns, 160 * ms);
    EXPECT_EQ(must(everything().causes().costs("open", 0, UINT64_MAX, 10)).at(1).excess_ns,
              80 * ms);
    EXPECT_THAT(must(everything().causes().costs({}, 0, UINT64_MAX, 1)), SizeIs(1));
    EXPECT_THAT(must(everything().causes().costs("close", 0, UINT64_MAX, 10)), IsEmpty());
    // A part counts as its root, and a delay of both once.
    CauseChange part;
    part.root = news[0].id;
    change(news[1].id, part);
    const auto merged = must(everything().causes().costs({}, 0, UINT64_MAX, 10));
    ASSERT_THAT(merged, SizeIs(1));
    EXPECT_EQ(merged[0].delays, 6U);
}

TEST_F(CausesContract, IsNewOnceAndCountsEachDelayOnce) {
    auto delays = add_bundle(1, "v1", monday);
    const auto news = note({sighted("a", delays)});
    ASSERT_THAT(news, SizeIs(1));
    EXPECT_EQ(news[0].status, CauseStatus::New);
    auto more = add_bundle(2, "v2", monday + day, "beta");
    delays.insert(delays.end(), more.begin(), more.end());
    EXPECT_THAT(note({sighted("a", delays)}, monday + day), IsEmpty());
    reopen();
    const auto life = must(everything().causes().find_cause(news[0].id));
    ASSERT_TRUE(life.has_value());
    EXPECT_EQ(life->cause.event, "open");
    EXPECT_EQ(life->cause.title, "a waits");
    EXPECT_EQ(life->cause.first_realtime_ns, monday);
    EXPECT_EQ(life->cause.last_realtime_ns, monday + day + 3 * second);
    EXPECT_EQ(life->cause.noticed_realtime_ns, monday);
    EXPECT_EQ(life->delays, 8U);
    ASSERT_THAT(life->hosts, SizeIs(2));
    EXPECT_EQ(life->builds[0].name, "v2");
    ASSERT_THAT(life->days, SizeIs(2));
    EXPECT_EQ(life->days[1].from_ns, monday + day);
    EXPECT_EQ(life->sightings[0].bundle, receipt_of(2).digest);
    EXPECT_EQ(life->sightings[0].host, "beta");
    EXPECT_THAT(must(everything().causes().list("open", 10)), SizeIs(1));
    EXPECT_THAT(must(everything().causes().list("close", 10)), IsEmpty());
    // A bundle may be removed before its cause.
    ASSERT_TRUE(store_->inventory().remove(receipt_of(1).digest).ok());
    EXPECT_EQ(must(everything().causes().find_cause(news[0].id))->delays, 8U);
    EXPECT_FALSE(must(everything().causes().find_cause(12345)).has_value());
}

TEST_F(CausesContract, SaysWhichThreadsItsDelaysWaitedFor) {
    auto delays = add_bundle(1, "v1", monday);
    delays[0].holder = "price-refresher";
    delays[1].holder = delays[2].holder = "worker-1";
    SightedCause locked = sighted("a", delays);
    locked.holder = "worker-*";
    const std::uint64_t id = note({locked})[0].id;
    const auto life = must(everything().causes().find_cause(id));
    ASSERT_TRUE(life.has_value());
    EXPECT_EQ(life->cause.holder, "worker-*");
    ASSERT_THAT(life->holders, SizeIs(2));
    EXPECT_EQ(life->holders[0].name, "worker-1");
    EXPECT_EQ(life->holders[0].delays, 2U);
    EXPECT_EQ(life->holders[0].last_realtime_ns, monday + 2 * second);
    EXPECT_EQ(life->holders[1].name, "price-refresher");
    // The newest search decides.
    delays[0].holder = "worker-1";
    SightedCause later = sighted("a", delays);
    later.holder = "worker-1";
    EXPECT_THAT(note({later}), IsEmpty());
    const auto after = must(everything().causes().find_cause(id));
    EXPECT_EQ(after->cause.holder, "worker-1");
    ASSERT_THAT(after->holders, SizeIs(1));
    EXPECT_EQ(after->holders[0].delays, 3U);
}

TEST_F(CausesContract, ComesBackWithTheBuildThatResolvedItOrALaterOne) {
    const auto old = add_bundle(1, "v1", monday);
    const std::uint64_t id = note({sighted("a", old)})[0].id;
    const auto fixed = add_bundle(2, "v2", monday + hour);
    change(id, {CauseStatus::Resolved, "v2", {}, {}, {}, {}, "ann", monday + 2 * hour});
    EXPECT_EQ(cause(id).status, CauseStatus::Resolved);
    // Earlier delays, and machines that still have the old build, prove nothing.
    const auto still_old = add_bundle(3, "v1", monday + 3 * hour);
    EXPECT_THAT(note({sighted("a", old)}), IsEmpty());
    EXPECT_THAT(note({sighted("a", still_old)}), IsEmpty());
    EXPECT_EQ(cause(id).status, CauseStatus::Resolved);
    const auto later = add_bundle(4, "v3", monday + 4 * hour);
    const auto news = note({sighted("a", later)}, monday + 5 * hour);
    ASSERT_THAT(news, SizeIs(1));
    EXPECT_EQ(news[0].status, CauseStatus::Regressed);
    EXPECT_EQ(cause(id).regressed_realtime_ns, monday + 5 * hour);
    EXPECT_THAT(note({sighted("a", later)}), IsEmpty());
    change(id, {CauseStatus::Resolved, "", {}, {}, {}, {}, "ann", monday + 6 * hour});
    EXPECT_THAT(note({sighted("a", add_bundle(5, "v1", monday + 7 * hour))}), SizeIs(1));
}

TEST_F(CausesContract, TheSameDelaysUnderAnotherNameAreTheSameCause) {
    const auto delays = add_bundle(1, "v1", monday);
    const std::uint64_t id = note({sighted("a", delays)})[0].id;
    EXPECT_THAT(note({sighted("inlined", delays)}), IsEmpty());
    const auto life = must(everything().causes().find_cause(id));
    ASSERT_THAT(life->parts, SizeIs(1));
    EXPECT_EQ(life->parts[0].signature, "inlined");
    EXPECT_EQ(life->delays, 4U);
    // Two causes found by one search are distinct, even if they share delays.
    EXPECT_THAT(note({sighted("a", delays), sighted("b", delays)}), SizeIs(1));
}

TEST_F(CausesContract, PeopleMergeAndSplit) {
    const auto one = add_bundle(1, "v1", monday), two = add_bundle(2, "v1", monday + hour);
    const auto news = note({sighted("a", one), sighted("b", two)});
    ASSERT_THAT(news, SizeIs(2));
    const std::uint64_t a = news[0].id, b = news[1].id;
    CauseChange merge;
    merge.root = a;
    merge.by = "ann";
    change(b, merge);
    EXPECT_EQ(cause(b).root, a);
    EXPECT_EQ(must(everything().causes().find_cause(a))->delays, 8U);
    // If a part regresses, the whole cause does.
    change(a, {CauseStatus::Resolved, "", {}, {}, {}, {}, "ann", monday + 2 * hour});
    const auto again = note({sighted("b", add_bundle(3, "v1", monday + 3 * hour))});
    ASSERT_THAT(again, SizeIs(1));
    EXPECT_EQ(again[0].id, a);
    EXPECT_THAT(must(everything().causes().cause_totals(10)), SizeIs(1));
    merge.root = 0;
    change(b, merge);
    const auto totals = must(everything().causes().cause_totals(10));
    ASSERT_THAT(totals, SizeIs(2));
    EXPECT_EQ(totals[0].event, "open");
    EXPECT_EQ(totals[0].status, CauseStatus::New);
    EXPECT_EQ(totals[1].status, CauseStatus::Regressed);
    EXPECT_EQ(totals[1].causes, 1U);
    EXPECT_EQ(cause(b).root, b);
    EXPECT_EQ(must(everything().causes().find_cause(a))->delays, 4U);
    merge.root = 999;
    EXPECT_FALSE(everything().causes().change_cause(b, merge).ok());
    EXPECT_FALSE(must(everything().causes().change_cause(999, {})));
}

TEST_F(CausesContract, WhatIsNotChangedStays) {
    const std::uint64_t id = note({sighted("a", add_bundle(1, "v1", monday))})[0].id;
    change(id, {CauseStatus::Known, {}, "rita", {}, "https://tracker/1", {}, "ann", monday});
    CauseChange note_alone;
    note_alone.note = "the index is cold";
    change(id, note_alone);
    const CauseRecord found = cause(id);
    EXPECT_EQ(found.status, CauseStatus::Known);
    EXPECT_THAT((std::vector{found.owner, found.note, found.link}),
                ElementsAre("rita", "the index is cold", "https://tracker/1"));
}

}  // namespace
}  // namespace lagtrap::server::causes_contract_test
