#include "server/store/found_causes.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::found_causes_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class FoundCausesTest : public CausesStoreTest {
  protected:
    // The cause's delays, numbered from 1, of bundle 1.
    std::vector<CauseSighting> of(const std::vector<CauseSighting>& all,
                                  const std::vector<std::uint32_t>& numbers) {
        std::vector<CauseSighting> picked;
        for (const std::uint32_t number : numbers) picked.push_back(all.at(number - 1));
        return picked;
    }
    // Whether a cause is reported again after its resolution, by a delay of a build.
    bool comes_back(std::uint64_t id, std::vector<CauseSighting> delays, std::uint64_t now_ns) {
        const auto news = note({sighted(cause(id).signature, std::move(delays))}, now_ns);
        EXPECT_EQ(cause(id).status == CauseStatus::Regressed, !news.empty());
        return !news.empty();
    }
};

TEST_F(FoundCausesTest, WithoutCausesOrStoredDelaysNothingIsRecorded) {
    EXPECT_THAT(note({}), IsEmpty());
    auto delays = add_delays(1, monday);
    delays[0].bundle = digest_of(99);
    EXPECT_THAT(note({sighted("gone", {delays[0]}), sighted("none", {})}), IsEmpty());
    EXPECT_THAT(must(everything().causes().list({}, 10)), IsEmpty());
    EXPECT_EQ(life_of(new_cause("a", delays)).delays, 3U) << "of a bundle that is gone, none";
}

TEST_F(FoundCausesTest, EachNewCauseIsNewsOnce) {
    const auto delays = add_delays(1, monday);
    const auto news = note({sighted("a", {delays[0]}), sighted("b", {delays[1]})}, monday + 9);
    ASSERT_THAT(news, SizeIs(2));
    EXPECT_EQ(cause(news[0].id).signature, "a");
    EXPECT_EQ(cause(news[1].id).signature, "b");
    EXPECT_EQ(news[1].status, CauseStatus::New);
    EXPECT_EQ(cause(news[1].id).noticed_realtime_ns, monday + 9);
    EXPECT_EQ(cause(news[1].id).root, news[1].id);
    EXPECT_THAT(note({sighted("a", delays)}, monday + 10), IsEmpty());
    EXPECT_EQ(cause(news[0].id).noticed_realtime_ns, monday + 9);
    // The same place in another event is another cause.
    EXPECT_THAT(note({sighted("a", add_delays(2, monday, {.event = "close"}))}, monday, "close"),
                SizeIs(1));
}

TEST_F(FoundCausesTest, ALaterSearchBringsItUpToDate) {
    auto delays = add_delays(1, monday + day);
    const std::uint64_t id = new_cause("a", {delays[1], delays[2]});
    EXPECT_EQ(cause(id).first_realtime_ns, monday + day + second);
    EXPECT_EQ(cause(id).last_realtime_ns, monday + day + 2 * second);
    SightedCause again = sighted("a", {delays[0], delays[1], delays[3]});
    again.delays[1].excess_ns = 77 * ms;
    again.title = "another\x1b title";
    again.frames = "[1]";
    again.holder = "lock";
    again.state = "running";
    EXPECT_THAT(note({again}), IsEmpty());
    const CauseLife life = life_of(id);
    EXPECT_EQ(life.delays, 4U);
    EXPECT_EQ(life.cause.first_realtime_ns, monday + day);
    EXPECT_EQ(life.cause.last_realtime_ns, monday + day + 3 * second);
    EXPECT_EQ(life.cause.title, "another\\x1b title");
    EXPECT_EQ(life.cause.frames, "[1]");
    EXPECT_EQ(life.cause.holder, "lock");
    EXPECT_EQ(life.cause.state, "blocked");
    EXPECT_EQ(life.sightings[2].excess_ns, 77 * ms);
    EXPECT_THAT(note({sighted("a", {delays[2]})}), IsEmpty());
    EXPECT_EQ(cause(id).first_realtime_ns, monday + day) << "a narrower search narrows nothing";
    EXPECT_EQ(cause(id).last_realtime_ns, monday + day + 3 * second);
}

// Four fifths of its delays, and three at least.
TEST_F(FoundCausesTest, APartSharesMostOfItsDelaysWithACauseThatIsGone) {
    struct Case {
        std::vector<std::uint32_t> before, after;
        bool same;
    };
    std::uint64_t bundle = 0;
    for (const Case& one :
         {Case{{1, 2, 3}, {1, 2, 3}, true}, Case{{1, 2}, {1, 2}, false},
          Case{{1, 2, 3, 4}, {1, 2, 3, 4, 5}, true}, Case{{1, 2, 3}, {1, 2, 3, 4}, false},
          Case{{1, 2, 3, 4, 5}, {1, 2, 3}, true}, Case{{1, 2}, {1, 2, 3}, false}}) {
        ++bundle;
        const std::string event = "event " + std::to_string(bundle);
        const auto all = add_delays(bundle, monday, {.event = event, .delays = 5});
        const std::uint64_t id = new_cause("before", of(all, one.before), monday, event);
        const auto news = note({sighted("after", of(all, one.after))}, monday, event);
        EXPECT_THAT(news, SizeIs(one.same ? 0 : 1)) << event;
        EXPECT_THAT(life_of(id).parts, SizeIs(one.same ? 1 : 0)) << event;
    }
}

TEST_F(FoundCausesTest, ACauseOfWhichAPartWasFoundIsNotGone) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t id = new_cause("a", delays);
    EXPECT_THAT(note({sighted("part", delays)}), IsEmpty());
    EXPECT_THAT(note({sighted("part", delays), sighted("c", delays)}), SizeIs(1));
    EXPECT_THAT(life_of(id).parts, SizeIs(1));
}

TEST_F(FoundCausesTest, DelaysOfAPartAreThoseOfItsRoot) {
    const auto delays = add_delays(1, monday, {.delays = 8});
    const std::uint64_t id = new_cause("a", of(delays, {1, 2, 3, 4}));
    const std::uint64_t part = new_cause("b", of(delays, {5, 6, 7, 8}));
    make_part(part, id);
    EXPECT_THAT(note({sighted("c", of(delays, {5, 6, 7, 8}))}), IsEmpty());
    EXPECT_THAT(life_of(id).parts, SizeIs(2)) << "not a part of the part";
}

TEST_F(FoundCausesTest, OnlyResolvedCausesComeBackAndOnce) {
    const std::uint64_t id = new_cause("a", add_delays(1, monday));
    CauseChange known;
    known.status = CauseStatus::Known;
    change(id, known);
    EXPECT_FALSE(comes_back(id, add_delays(2, monday + hour), monday + hour));
    resolve(id, "", monday + 2 * hour);
    const auto later = add_delays(3, monday + 3 * hour);
    EXPECT_TRUE(comes_back(id, later, monday + 4 * hour));
    EXPECT_EQ(cause(id).regressed_realtime_ns, monday + 4 * hour);
    EXPECT_THAT(note({sighted("a", later)}, monday + 5 * hour), IsEmpty());
    EXPECT_EQ(cause(id).regressed_realtime_ns, monday + 4 * hour);
}

TEST_F(FoundCausesTest, ADelayAtTheTimeOfTheResolutionIsNotLater) {
    const std::uint64_t id = new_cause("a", add_delays(1, monday));
    resolve(id, "", monday + hour);
    EXPECT_FALSE(comes_back(id, add_delays(2, monday + hour, {.delays = 1}), monday + day));
    EXPECT_TRUE(comes_back(id, add_delays(3, monday + hour + 1, {.delays = 1}), monday + day));
}

TEST_F(FoundCausesTest, TheBuildThatResolvedItBringsItBack) {
    const std::uint64_t id = new_cause("a", add_delays(1, monday));
    resolve(id, "v2", monday + hour);
    EXPECT_TRUE(comes_back(id, add_delays(2, monday + 2 * hour, {.build = "v2"}), monday + day));
}

TEST_F(FoundCausesTest, ABuildIsNewerIfItWasSeenFirstAfterTheFixed) {
    const std::uint64_t id = new_cause("a", add_delays(1, monday));
    add_delays(2, monday + hour, {.build = "v2"});
    add_delays(3, monday + hour, {.build = "twin"});
    resolve(id, "v2", monday + 2 * hour);
    EXPECT_FALSE(comes_back(id, add_delays(4, monday + 3 * hour, {.build = "twin"}), monday + day));
    // First seen by its runs, before the fixed build was.
    BatchMaker early;
    early.add(monday + 1, 10 * ms).build_id = "v0";
    add(1, early.batch);
    EXPECT_FALSE(comes_back(id, add_delays(5, monday + 3 * hour, {.build = "v0"}), monday + day));
    auto unknown = add_delays(6, monday + 4 * hour, {.build = "v3"});
    for (CauseSighting& sighting : unknown) sighting.build = "never seen";
    EXPECT_FALSE(comes_back(id, unknown, monday + day));
    EXPECT_TRUE(comes_back(id, add_delays(7, monday + 5 * hour, {.build = "v3"}), monday + day));
}

TEST_F(FoundCausesTest, IfTheFixedBuildIsUnknownThoseAreNewerThatCameAfterTheResolution) {
    const std::uint64_t id = new_cause("a", add_delays(1, monday));
    resolve(id, "never seen", monday + hour);
    EXPECT_FALSE(comes_back(id, add_delays(2, monday + 2 * hour), monday + day));
    EXPECT_TRUE(comes_back(id, add_delays(3, monday + 3 * hour, {.build = "v2"}), monday + day));
}

TEST_F(FoundCausesTest, LongNamesAreCut) {
    auto delays = add_delays(1, monday, {.delays = 1});
    delays[0].host = delays[0].build = delays[0].holder = std::string(2000, 'n');
    const CauseLife life = life_of(new_cause("a", delays));
    const std::string cut(1024, 'n');
    EXPECT_EQ(life.hosts.at(0).name, cut);
    EXPECT_EQ(life.builds.at(0).name, cut);
    EXPECT_EQ(life.holders.at(0).name, cut);
}

}  // namespace
}  // namespace lagtrap::server::found_causes_test
