#include "server/ingest/known_causes.hpp"

#include <map>

#include <gmock/gmock.h>

#include "analysis/run_profile.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::known_causes_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t day = 86'400'000 * ms;
constexpr std::uint64_t newest = 20'100 * day;

// Works for 10 ms; a slow one also parses for 200 ms.
std::string profile(bool slow) {
    analysis::RunProfile made;
    made.frames = {{"main", "/usr/bin/app", false},
                   {"work", "/usr/bin/app", false},
                   {"parse", "/usr/bin/app", false}};
    made.nodes = {{}, {0, 0}, {1, 1}, {1, 2}};
    if (slow) made.entries.push_back({200 * ms, {{analysis::TimeKind::OnCpu, 0, 0, 3}}});
    made.entries.push_back({10 * ms, {{analysis::TimeKind::OnCpu, 0, 0, 2}}});
    made.duration_ns = slow ? 210 * ms : 10 * ms;
    made.delay = slow;
    auto bytes = analysis::write_run_profile(made);
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? std::move(bytes).value() : "";
}

class KnownCauses : public StoreFixture {
  protected:
    static BundleDelay run(std::uint32_t number, bool delayed, std::uint64_t begin_ns) {
        BundleDelay made;
        made.number = delayed ? number : 0;
        made.delayed = delayed;
        made.event = "open";
        made.begin_realtime_ns = begin_ns;
        made.duration_ns = delayed ? 210 * ms : 10 * ms;
        made.profile = profile(delayed);
        made.build = "v1";
        made.user = "ann";
        return made;
    }
    std::string add(std::vector<BundleDelay> delays, const std::string& host = "alpha") {
        BundleRow row;
        row.digest = std::to_string(++bundles_);
        row.digest.insert(0, 64 - row.digest.size(), '0');
        EXPECT_TRUE(store_->inventory().add(row, {"parse", row.digest, 0}).ok());
        BundleFacts facts;
        facts.host = host;
        EXPECT_TRUE(store_->inventory().set_contents(row.digest, facts, {}, delays).ok());
        return row.digest;
    }
    // A host with three delayed and three normal runs, of which the delayed begin then.
    void add_host(const std::string& host, std::uint64_t begin_ns) {
        std::vector<BundleDelay> delays;
        for (std::uint32_t number = 1; number <= 3; ++number) {
            delays.push_back(run(number, true, begin_ns));
            delays.push_back(run(0, false, begin_ns));
            delays[delays.size() - 2].user = "user of " + host;
        }
        add(delays, host);
    }
    void add_hosts(std::size_t hosts, std::uint64_t begin_ns) {
        for (std::size_t i = 0; i < hosts; ++i)
            add_host("host " + std::to_string(++hosts_), begin_ns);
    }
    std::vector<CauseNews> note(const std::string& event = "open", std::uint64_t now_ns = newest) {
        const auto news = note_causes_of(*store_, event, now_ns);
        EXPECT_TRUE(news.ok()) << (news.ok() ? "" : news.error().message);
        return news.ok() ? *news : std::vector<CauseNews>();
    }
    std::vector<CauseRecord> causes() {
        const auto found = store_->everything().causes().list({}, 10);
        EXPECT_TRUE(found.ok());
        return found.ok() ? *found : std::vector<CauseRecord>();
    }
    reports::CauseReport report(const Filter& filter, std::uint32_t limit) {
        reports::CauseFinder finder;
        EXPECT_TRUE(add_profiles(store_->everything().delays(), filter, limit, finder).ok());
        return finder.find();
    }

    std::uint64_t bundles_ = 0;
    std::size_t hosts_ = 0;
};

TEST_F(KnownCauses, ACauseIsKeptWithItsDelays) {
    add_hosts(8, newest);
    const auto news = note();
    ASSERT_THAT(news, SizeIs(1));
    EXPECT_EQ(news[0].status, CauseStatus::New);
    const auto found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].event, "open");
    EXPECT_EQ(found[0].signature.size(), 16U);
    EXPECT_THAT(found[0].title, HasSubstr("parse"));
    EXPECT_EQ(found[0].state, "on CPU");
    EXPECT_EQ(found[0].reason, "");
    EXPECT_EQ(found[0].holder, "");
    EXPECT_THAT(found[0].frames, HasSubstr(R"({"function":"parse","module":"app"})"));
    EXPECT_EQ(found[0].noticed_realtime_ns, newest);
    EXPECT_EQ(found[0].delays, 24U);
    EXPECT_EQ(found[0].hosts, 8U);
    const auto life = store_->everything().causes().find_cause(found[0].id);
    ASSERT_TRUE(life.ok() && life->has_value());
    const CauseSighting& sighting = (*life)->sightings.at(0);
    EXPECT_EQ(sighting.bundle.size(), 64U);
    EXPECT_THAT(sighting.host, HasSubstr("host "));
    EXPECT_EQ(sighting.build, "v1");
    EXPECT_EQ(sighting.begin_realtime_ns, newest);
    EXPECT_NEAR(static_cast<double>(sighting.excess_ns), 200e6, 1e6);
    EXPECT_GE(sighting.delay, 1U);
    EXPECT_LE(sighting.delay, 3U);
    EXPECT_THAT(note(), IsEmpty()) << "news once";
}

TEST_F(KnownCauses, WithoutDelaysOrOfAnotherEventNothingIsFound) {
    EXPECT_THAT(note(), IsEmpty());
    add_hosts(8, newest);
    EXPECT_THAT(note("close"), IsEmpty());
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(KnownCauses, TheThirtyDaysUpToTheNewestDelayAreSearched) {
    add_hosts(6, newest - 5);
    add_host("edge", newest - 30 * day);
    add_host("too old", newest - 30 * day - 1);
    add({run(1, true, newest)}, "newest");
    ASSERT_THAT(note("open", newest + 400 * day), SizeIs(1));
    EXPECT_EQ(causes().at(0).delays, 6U * 3 + 3 + 1);
    EXPECT_EQ(causes()[0].first_realtime_ns, newest - 30 * day);
}

TEST_F(KnownCauses, AClockThatIsADayAheadHidesNoOtherDelays) {
    add_hosts(6, newest - 31 * day);
    add({run(1, true, newest + day)}, "ahead");
    ASSERT_THAT(note(), SizeIs(1));
    EXPECT_EQ(causes().at(0).delays, 18U);
    // One that is less ahead is believed.
    add({run(1, true, newest + day - 1)}, "early");
    note();
    EXPECT_EQ(causes().at(0).delays, 18U);
    EXPECT_EQ(causes().at(0).last_realtime_ns, newest - 31 * day);
}

TEST_F(KnownCauses, ProfilesComeWithWhoseTheyAre) {
    add_hosts(6, newest);
    Filter filter;
    filter.event = "open";
    const reports::CauseReport all = report(filter, 1000);
    EXPECT_EQ(all.delayed_runs, 18U);
    EXPECT_EQ(all.normal_runs, 18U);
    EXPECT_EQ(all.bundles, 6U);
    ASSERT_THAT(all.causes, SizeIs(1));
    EXPECT_EQ(all.causes[0].hosts, 6U);
    EXPECT_EQ(all.causes[0].users, 6U);
    ASSERT_THAT(all.causes[0].builds, SizeIs(1));
    EXPECT_EQ(all.causes[0].builds[0].build, "v1");
    for (const reports::CauseDelay& delay : all.causes[0].delays) {
        EXPECT_EQ(delay.begin_realtime_ns, newest);
        EXPECT_EQ(delay.bundle.size(), 64U);
        EXPECT_GE(delay.delay, 1U);
    }
    const reports::CauseReport some = report(filter, 7);
    EXPECT_EQ(some.delayed_runs, 7U);
    EXPECT_EQ(some.normal_runs, 7U);
    filter.host = {"host 1"};
    EXPECT_EQ(report(filter, 1000).delayed_runs, 3U);
}

TEST_F(KnownCauses, ProfilesThatCannotBeReadAreSkipped) {
    BundleDelay damaged = run(2, true, newest + 1), missing = run(3, true, newest);
    damaged.profile = "damaged";
    missing.profile.clear();
    add({run(1, true, newest), damaged, missing, run(0, false, newest)});
    Filter filter;
    filter.event = "open";
    const reports::CauseReport found = report(filter, 1000);
    EXPECT_EQ(found.delayed_runs, 1U);
    EXPECT_EQ(found.normal_runs, 1U);
}

}  // namespace
}  // namespace lagtrap::server::known_causes_test
