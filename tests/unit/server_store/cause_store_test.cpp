#include "server/store/cause_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::cause_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CauseStoreTest : public CausesStoreTest {
  protected:
    static std::vector<std::uint64_t> ids_of(const std::vector<CauseRecord>& causes) {
        std::vector<std::uint64_t> ids;
        for (const CauseRecord& cause : causes) ids.push_back(cause.id);
        return ids;
    }
    static std::vector<std::string> names_of(const std::vector<CauseCount>& counts) {
        std::vector<std::string> names;
        for (const CauseCount& count : counts)
            names.push_back(count.name + " " + std::to_string(count.delays));
        return names;
    }
    std::vector<std::uint64_t> found(const std::vector<std::string>& words,
                                     std::uint32_t limit = 10) {
        return ids_of(must(everything().causes().search(words, limit)));
    }
};

TEST_F(CauseStoreTest, ACauseIsShownWithEverythingKnownOfIt) {
    auto delays = add_delays(1, monday);
    delays[1].host = "beta";
    SightedCause made = sighted("a", delays);
    made.holder = "refresher";
    made.frames = "[{}]";
    const std::uint64_t id = note({made}, monday + 7)[0].id;
    change(id, {CauseStatus::Resolved,
                "v9\x1b",
                "rita",
                "cold",
                "https://t/1",
                {},
                "an\x1bn",
                monday + 8});
    for (const CauseRecord& cause :
         {this->cause(id), must(everything().causes().list("open", 10)).at(0)}) {
        EXPECT_EQ(cause.id, id);
        EXPECT_EQ(cause.root, id);
        EXPECT_EQ(cause.event, "open");
        EXPECT_EQ(cause.signature, "a");
        EXPECT_EQ(cause.title, "a waits");
        EXPECT_EQ(cause.state, "blocked");
        EXPECT_EQ(cause.reason, "disk");
        EXPECT_EQ(cause.frames, "[{}]");
        EXPECT_EQ(cause.holder, "refresher");
        EXPECT_EQ(cause.first_realtime_ns, monday);
        EXPECT_EQ(cause.last_realtime_ns, monday + 3 * second);
        EXPECT_EQ(cause.noticed_realtime_ns, monday + 7);
        EXPECT_EQ(cause.status, CauseStatus::Resolved);
        EXPECT_EQ(cause.resolved_realtime_ns, monday + 8);
        EXPECT_EQ(cause.resolved_build, "v9\\x1b");
        EXPECT_EQ(cause.regressed_realtime_ns, 0U);
        EXPECT_EQ(cause.owner, "rita");
        EXPECT_EQ(cause.note, "cold");
        EXPECT_EQ(cause.link, "https://t/1");
        EXPECT_EQ(cause.changed_by, "an\\x1bn");
        EXPECT_EQ(cause.changed_realtime_ns, monday + 8);
        EXPECT_EQ(cause.delays, 4U);
        EXPECT_EQ(cause.hosts, 2U);
    }
}

TEST_F(CauseStoreTest, TheMostRecentlyFoundComeFirstUpToALimit) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t early = new_cause("early", {delays[0]}, monday + 1);
    const std::uint64_t first = new_cause("first", {delays[1]}, monday + 5);
    const std::uint64_t last = new_cause("last", {delays[2]}, monday + 5);
    const std::uint64_t other =
        new_cause("other", add_delays(2, monday, {.event = "close"}), monday + 2, "close");
    EXPECT_THAT(ids_of(must(everything().causes().list({}, 10))),
                ElementsAre(last, first, other, early));
    EXPECT_THAT(ids_of(must(everything().causes().list({}, 2))), ElementsAre(last, first));
    EXPECT_THAT(ids_of(must(everything().causes().list("open", 10))),
                ElementsAre(last, first, early));
    EXPECT_THAT(ids_of(must(everything().causes().list("close", 10))), ElementsAre(other));
}

TEST_F(CauseStoreTest, WordsAreSearchedInTitleEventReasonOwnerAndFrames) {
    const auto delays = add_delays(1, monday);
    const auto add = [&](const std::string& signature, auto describe, std::uint64_t at_ns) {
        SightedCause made{signature, "T", "blocked", "R", "F", {delays[0]}, "holder"};
        describe(made);
        return note({made}, at_ns)[0].id;
    };
    const std::uint64_t title = add(
                            "1", [](auto&c) { c.title = "Apple"; }, monday + 1),
                        reason = add(
                            "2", [](auto&c) { c.reason = "Banana"; }, monday + 2),
                        frames = add(
                            "3", [](auto&c) { c.frames = "Cherry!pie"; }, monday + 3);
    CauseChange owned;
    owned.owner = "Damson";
    owned.note = "elder";
    change(title, owned);
    EXPECT_THAT(found({"apple"}), ElementsAre(title));
    EXPECT_THAT(found({"banana"}), ElementsAre(reason));
    EXPECT_THAT(found({"cherry!p"}), ElementsAre(frames));
    EXPECT_THAT(found({"cherry!!p"}), IsEmpty());
    EXPECT_THAT(found({"damson"}), ElementsAre(title));
    EXPECT_THAT(found({"open"}), ElementsAre(frames, reason, title));
    EXPECT_THAT(found({"open"}, 2), ElementsAre(frames, reason));
    EXPECT_THAT(found({"open", "an"}), ElementsAre(reason));
    EXPECT_THAT(found({}), SizeIs(3));
    for (const char* elsewhere : {"elder", "blocked", "holder"})
        EXPECT_THAT(found({elsewhere}), IsEmpty()) << elsewhere;
}

TEST_F(CauseStoreTest, TotalsAreByEventAndStatusWithoutParts) {
    const auto delays = add_delays(1, monday), others = add_delays(2, monday, {.event = "close"});
    const std::uint64_t known = new_cause("a", {delays[0]});
    new_cause("b", {delays[1]});
    new_cause("c", {delays[2]});
    make_part(new_cause("d", {delays[3]}), known);
    new_cause("e", {others[0]}, monday, "close");
    CauseChange decided;
    decided.status = CauseStatus::Known;
    change(known, decided);
    const auto totals = [](const Evidence& evidence, std::uint32_t limit = 10) {
        std::vector<std::string> list;
        for (const CauseTotal& total : must(evidence.causes().cause_totals(limit)))
            list.push_back(total.event + " " + std::to_string(static_cast<int>(total.status)) +
                           " " + std::to_string(total.causes));
        return list;
    };
    EXPECT_THAT(totals(everything()), ElementsAre("close 0 1", "open 0 2", "open 1 1"));
    EXPECT_THAT(totals(everything(), 2), ElementsAre("close 0 1", "open 0 2"));
    EXPECT_THAT(totals(seen({"open"}, {})), ElementsAre("open 0 2", "open 1 1"));
}

TEST_F(CauseStoreTest, CostsAreOfDelaysFromABeginUpToAnEnd) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t id = new_cause("a", delays);
    const auto counted = [&](std::uint64_t from_ns, std::uint64_t to_ns) {
        const auto costs = must(everything().causes().costs({}, from_ns, to_ns, 10));
        return costs.empty() ? 0 : costs[0].delays;
    };
    EXPECT_EQ(counted(monday, monday + 3 * second + 1), 4U);
    EXPECT_EQ(counted(monday + 1, monday + 3 * second), 2U);
    EXPECT_EQ(counted(monday + 4 * second, UINT64_MAX), 0U);
    EXPECT_EQ(must(everything().causes().costs("open", 0, UINT64_MAX, 10)).at(0).cause, id);
}

TEST_F(CauseStoreTest, TheMostExpensiveComesFirstAndADelayCostsWhatItsDearestPartDoes) {
    auto delays = add_delays(1, monday), others = add_delays(2, monday, {.event = "close"});
    const std::uint64_t cheap = new_cause("cheap", {delays[0]}), also = new_cause("b", {delays[1]});
    for (CauseSighting& dear : others) dear.excess_ns = 60 * ms;
    const std::uint64_t dear = new_cause("dear", {others[0], others[1]}, monday, "close");
    const auto costs = must(everything().causes().costs({}, 0, UINT64_MAX, 10));
    ASSERT_THAT(costs, SizeIs(3));
    EXPECT_EQ(costs[0].cause, dear);
    EXPECT_EQ(costs[0].event, "close");
    EXPECT_EQ(costs[0].excess_ns, 120 * ms);
    EXPECT_EQ(costs[1].cause, cheap) << "of equal costs, the older cause comes first";
    EXPECT_EQ(costs[2].cause, also);
    delays[0].excess_ns = 90 * ms;
    const std::uint64_t part = new_cause("part", {delays[0]});
    make_part(part, cheap);
    const auto merged = must(everything().causes().costs("open", 0, UINT64_MAX, 10));
    ASSERT_THAT(merged, SizeIs(2));
    EXPECT_EQ(merged[0].cause, cheap);
    EXPECT_EQ(merged[0].title, "cheap waits");
    EXPECT_EQ(merged[0].delays, 1U);
    EXPECT_EQ(merged[0].excess_ns, 90 * ms);
    EXPECT_THAT(must(seen({"close"}, {}).causes().costs({}, 0, UINT64_MAX, 10)), SizeIs(1));
    EXPECT_THAT(must(seen({"close"}, {}).causes().costs("open", 0, UINT64_MAX, 10)), IsEmpty());
}

TEST_F(CauseStoreTest, ALifeHasHostsBuildsHoldersAndDaysWithTheirTimes) {
    auto old = add_delays(1, monday, {.build = "old", .host = "beta", .delays = 3}),
         recent = add_delays(2, monday + day, {.build = "recent", .host = "alpha", .delays = 2});
    auto more = add_delays(3, monday + 2 * day, {.build = "old", .host = "alpha", .delays = 2});
    old[0].holder = "lock";
    recent[0].holder = "lock";
    recent[1].holder = "disk";
    std::vector<CauseSighting> delays = more;
    delays.insert(delays.end(), old.begin(), old.end());
    delays.insert(delays.end(), recent.begin(), recent.end());
    delays[0].excess_ns = 41 * ms;
    const std::uint64_t id = new_cause("a", delays);
    const CauseLife life = life_of(id);
    EXPECT_EQ(life.delays, 7U);
    EXPECT_THAT(names_of(life.hosts), ElementsAre("alpha 4", "beta 3"));
    EXPECT_EQ(life.hosts[0].first_realtime_ns, monday + day);
    EXPECT_EQ(life.hosts[0].last_realtime_ns, monday + 2 * day + second);
    EXPECT_EQ(life.hosts[1].first_realtime_ns, monday);
    EXPECT_EQ(life.hosts[1].last_realtime_ns, monday + 2 * second);
    EXPECT_THAT(names_of(life.builds), ElementsAre("recent 2", "old 5"));
    EXPECT_EQ(life.builds[1].first_realtime_ns, monday);
    EXPECT_EQ(life.builds[1].last_realtime_ns, monday + 2 * day + second);
    EXPECT_THAT(names_of(life.holders), ElementsAre("lock 2", "disk 1"));
    EXPECT_EQ(life.holders[0].first_realtime_ns, monday);
    EXPECT_EQ(life.holders[0].last_realtime_ns, monday + day);
    ASSERT_THAT(life.days, SizeIs(3));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(life.days[i].from_ns, monday + i * day);
    EXPECT_EQ(life.days[0].delays, 3U);
    EXPECT_EQ(life.days[1].delays, 2U);
    ASSERT_THAT(life.sightings, SizeIs(7));
    const CauseSighting &newest = life.sightings[0], &oldest = life.sightings[6];
    EXPECT_EQ(newest.bundle, digest_of(3));
    EXPECT_EQ(newest.delay, 2U);
    EXPECT_EQ(newest.host, "alpha");
    EXPECT_EQ(newest.build, "old");
    EXPECT_EQ(newest.begin_realtime_ns, monday + 2 * day + second);
    EXPECT_EQ(newest.excess_ns, 40 * ms);
    EXPECT_EQ(life.sightings[1].excess_ns, 41 * ms);
    EXPECT_EQ(oldest.begin_realtime_ns, monday);
    EXPECT_EQ(oldest.host, "beta");
}

TEST_F(CauseStoreTest, ADelayOutlivesItsBundleButCannotBeOpenedThen) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t id = new_cause("a", delays);
    ASSERT_TRUE(store_->inventory().remove(digest_of(1)).ok());
    const CauseLife life = life_of(id);
    ASSERT_THAT(life.sightings, SizeIs(4));
    EXPECT_EQ(life.sightings[0].bundle, "");
    EXPECT_EQ(life.sightings[0].delay, 4U);
}

TEST_F(CauseStoreTest, TheNewestTwoHundredDelaysAndAThousandHostsAreShown) {
    auto delays = add_delays(1, monday, {.delays = 1001});
    for (std::size_t i = 0; i < delays.size(); ++i) {
        delays[i].host = "host " + std::to_string(i);
        delays[i].build = "build " + std::to_string(i);
        delays[i].holder = "holder " + std::to_string(i);
    }
    const CauseLife life = life_of(new_cause("a", delays));
    EXPECT_EQ(life.delays, 1001U);
    EXPECT_EQ(life.cause.hosts, 1001U);
    ASSERT_THAT(life.sightings, SizeIs(200));
    EXPECT_EQ(life.sightings.front().delay, 1001U);
    EXPECT_EQ(life.sightings.back().delay, 802U);
    for (const auto* counts : {&life.hosts, &life.builds, &life.holders})
        EXPECT_THAT(*counts, SizeIs(1000));
    EXPECT_EQ(life.builds.front().name, "build 1000");
}

TEST_F(CauseStoreTest, APartShowsTheDelaysOfItsRootAndTheOtherParts) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t root = new_cause("root", {delays[0]}),
                        part = new_cause("part", {delays[0], delays[1]}),
                        other = new_cause("other", {delays[2]}, monday + 1);
    make_part(part, root);
    make_part(other, root);
    const CauseLife of_root = life_of(root), of_part = life_of(part);
    EXPECT_THAT(ids_of(of_root.parts), ElementsAre(other, part));
    EXPECT_EQ(of_root.delays, 3U) << "a delay of two parts counts once";
    EXPECT_EQ(of_root.cause.delays, 1U);
    EXPECT_EQ(of_part.cause.id, part);
    EXPECT_EQ(of_part.cause.root, root);
    EXPECT_EQ(of_part.cause.delays, 2U);
    EXPECT_THAT(ids_of(of_part.parts), ElementsAre(other, root));
    EXPECT_EQ(of_part.delays, 3U);
}

TEST_F(CauseStoreTest, APartOfAPartIsAPartOfItsRootAndPartsMoveWithTheirRoot) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t a = new_cause("a", {delays[0]}), b = new_cause("b", {delays[1]}),
                        c = new_cause("c", {delays[2]}), d = new_cause("d", {delays[3]});
    make_part(b, a);
    make_part(c, b);
    EXPECT_EQ(cause(c).root, a);
    make_part(a, b);
    EXPECT_EQ(cause(a).root, a) << "no cause is a part of its own part";
    make_part(a, d);
    for (const std::uint64_t id : {a, b, c}) EXPECT_EQ(cause(id).root, d);
    make_part(b, b);
    EXPECT_EQ(cause(b).root, b);
    EXPECT_EQ(cause(c).root, d);
    make_part(c, 0);
    EXPECT_EQ(cause(c).root, c);
}

TEST_F(CauseStoreTest, ARootIsACauseOfTheSameEvent) {
    const std::uint64_t a = new_cause("a", add_delays(1, monday)),
                        other = new_cause("b", add_delays(2, monday, {.event = "close"}), monday,
                                          "close");
    for (const std::uint64_t root : {other, std::uint64_t{999}, UINT64_MAX}) {
        CauseChange merge;
        merge.root = root;
        merge.note = "lost";
        const auto changed = everything().causes().change_cause(a, merge);
        ASSERT_FALSE(changed.ok()) << root;
        EXPECT_EQ(changed.error().kind, ErrorKind::Invalid);
    }
    EXPECT_EQ(cause(a).note, "") << "a refused change changes nothing";
    EXPECT_FALSE(must(everything().causes().change_cause(UINT64_MAX, {})));
    EXPECT_FALSE(must(everything().causes().find_cause(UINT64_MAX)).has_value());
}

TEST_F(CauseStoreTest, ADecisionReplacesWhatItSetsOnly) {
    const std::uint64_t id = new_cause("a", add_delays(1, monday));
    change(id, {CauseStatus::Resolved, "v2", "rita", "cold", "https://t/1", {}, "ann", monday});
    CauseChange next;
    next.owner = "";
    next.by = "bob";
    next.at_realtime_ns = monday + 1;
    change(id, next);
    CauseRecord now = cause(id);
    EXPECT_EQ(now.owner, "");
    EXPECT_EQ(now.note, "cold");
    EXPECT_EQ(now.link, "https://t/1");
    EXPECT_EQ(now.resolved_build, "v2");
    EXPECT_EQ(now.changed_by, "bob");
    EXPECT_EQ(now.changed_realtime_ns, monday + 1);
    next = {};
    next.link = "https://t/2";
    change(id, next);
    EXPECT_EQ(cause(id).link, "https://t/2");
    EXPECT_EQ(cause(id).note, "cold");
    // Known is not resolved any more.
    next = {};
    next.status = CauseStatus::Known;
    next.resolved_build = "v3";
    next.at_realtime_ns = monday + 2;
    change(id, next);
    now = cause(id);
    EXPECT_EQ(now.status, CauseStatus::Known);
    EXPECT_EQ(now.resolved_realtime_ns, 0U);
    EXPECT_EQ(now.resolved_build, "");
}

TEST_F(CauseStoreTest, OfAPartlyVisibleCauseOnlyVisibleDelaysCount) {
    BundleDelay web = delay(1, monday), hidden = delay(2, monday + second),
                db = delay(3, monday + 2 * second);
    web.unit = "web.service";
    db.unit = "db.service";
    add_bundle(1, {web, hidden, db});
    std::vector<CauseSighting> delays;
    for (std::uint32_t number = 1; number <= 3; ++number)
        delays.push_back({digest_of(1),
                          number,
                          "host " + std::to_string(number),
                          "v1",
                          monday + number * second,
                          ms,
                          {}});
    const std::uint64_t id = new_cause("a", delays);
    const auto causes = must(seen({}, {"web.*"}).causes().list("open", 10));
    ASSERT_THAT(causes, SizeIs(1));
    EXPECT_EQ(causes[0].delays, 1U);
    EXPECT_EQ(causes[0].hosts, 1U);
    const auto life = must(seen({}, {"web.*"}).causes().find_cause(id));
    ASSERT_TRUE(life.has_value());
    EXPECT_EQ(life->delays, 1U);
    EXPECT_THAT(names_of(life->hosts), ElementsAre("host 1 1"));
    EXPECT_EQ(must(seen({"open"}, {"web.*"}).causes().find_cause(id))->delays, 3U);
}

TEST_F(CauseStoreTest, WhoSeesAPartOfACauseMayMakeItACauseAgain) {
    const std::uint64_t root = new_cause("a", add_delays(1, monday)),
                        part = new_cause("b", add_delays(2, monday + hour));
    make_part(part, root);
    CauseChange alone;
    alone.root = 0;
    EXPECT_FALSE(must(seen({"close"}, {}).causes().change_cause(part, alone)));
    EXPECT_EQ(cause(part).root, root);
    EXPECT_TRUE(must(seen({"open"}, {}).causes().change_cause(part, alone)));
    EXPECT_EQ(cause(part).root, part);
    CauseChange of_a_hidden_one;
    of_a_hidden_one.root =
        new_cause("c", add_delays(3, monday, {"v1", "alpha", "close", 2}), monday, "close");
    const auto refused = seen({"open"}, {}).causes().change_cause(part, of_a_hidden_one);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "there is no such cause of this event to make it a part of");
}

}  // namespace
}  // namespace lagtrap::server::cause_store_test
