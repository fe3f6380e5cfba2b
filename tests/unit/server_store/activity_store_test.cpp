#include "server/store/activity_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::activity_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ActivityStoreTest : public DelaysStoreTest {
  protected:
    std::vector<EventActivity> visit(const ActivityQuestion& question, const Evidence& evidence) {
        std::vector<EventActivity> found;
        EXPECT_TRUE(evidence.activity()
                        .visit(question,
                               [&](EventActivity&& event) {
                                   found.push_back(std::move(event));
                                   return success();
                               })
                        .ok());
        return found;
    }
    std::vector<EventActivity> visit(const ActivityQuestion& question) {
        return visit(question, everything());
    }
    static ActivityQuestion about(std::uint64_t from_ns, std::uint64_t to_ns) {
        ActivityQuestion question;
        question.filter.from_ns = question.hosts_from_ns = from_ns;
        question.filter.to_ns = to_ns;
        return question;
    }
    static std::vector<std::string> texts(const std::vector<UnitActivity>& units) {
        std::vector<std::string> found;
        for (const UnitActivity& unit : units)
            found.push_back(std::to_string((unit.from_ns - monday) / hour) + ": " +
                            std::to_string(unit.runs) + ", " + std::to_string(unit.delays) + ", " +
                            std::to_string(unit.durations.count()));
        return found;
    }
};

TEST_F(ActivityStoreTest, QuestionsNeedASpan) {
    for (const bool from : {true, false}) {
        ActivityQuestion question;
        if (from) question.filter.from_ns = monday;
        if (!from) question.filter.to_ns = monday;
        const Status looked =
            everything().activity().visit(question, [](EventActivity&&) { return success(); });
        ASSERT_FALSE(looked.ok());
        EXPECT_EQ(looked.error().kind, ErrorKind::Invalid);
    }
}

TEST_F(ActivityStoreTest, HiddenRunsAreRecordedButNotCounted) {
    BatchMaker maker;
    maker.add(monday, 90 * ms).weight = 3;
    maker.add(monday + hour, 90 * ms).dirty_reasons = trace::DirtyFailed;
    maker.add(monday, ms, "hidden").dirty_reasons = trace::DirtyFailed;
    add(1, maker.batch);
    const auto found = visit(about(monday, monday + day));
    ASSERT_THAT(found, SizeIs(1)) << "an event whose runs are all hidden did nothing";
    EXPECT_EQ(found[0].event, "open");
    EXPECT_TRUE(found[0].runs_recorded);
    EXPECT_THAT(texts(found[0].units), ElementsAre("0: 3, 3, 3"));
    EXPECT_EQ(found[0].last_ns, monday);
    ASSERT_THAT(found[0].units[0].builds, SizeIs(1));
    EXPECT_EQ(found[0].units[0].builds[0].runs, 3U);
    EXPECT_EQ(found[0].units[0].builds[0].delays, 3U);
}

TEST_F(ActivityStoreTest, DelaysInBundlesNameTheirHostsThoughRunsAreRecorded) {
    BatchMaker maker;
    maker.add(monday + hour, ms);
    add(1, maker.batch);
    add_bundle(1, {delay(1, monday + hour), delay(2, monday + 5 * hour)}, "beta");
    add_bundle(2, {delay(1, monday + 3 * hour), normal_run(monday + 9 * hour)}, "gamma");
    ActivityQuestion question = about(monday, monday + day);
    auto found = visit(question);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(texts(found[0].units), ElementsAre("1: 1, 0, 1"));
    EXPECT_EQ(found[0].delayed_hosts, 2U);
    EXPECT_EQ(found[0].last_ns, monday + 5 * hour);
    EXPECT_FALSE(found[0].delays_cut);
    question.hosts_from_ns = monday + 4 * hour;
    found = visit(question);
    EXPECT_EQ(found.at(0).delayed_hosts, 1U);
    EXPECT_EQ(found.at(0).hosts, 1U) << "beta, by its delays";
}

TEST_F(ActivityStoreTest, OfDelaysAloneEverythingIsAboutThem) {
    std::vector<BundleDelay> delays = {delay(1, monday + hour), delay(2, monday + 2 * hour),
                                       delay(3, monday + 26 * hour)};
    delays[1].build = "ef56";
    add_bundle(1, delays);
    ActivityQuestion question = about(monday + 2 * hour, monday + 2 * day);
    question.hosts_from_ns = monday + 20 * hour;
    question.hourly_from_ns = monday + hour;
    auto found = visit(question);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_FALSE(found[0].runs_recorded);
    EXPECT_EQ(found[0].hosts, 1U);
    EXPECT_THAT(texts(found[0].units), ElementsAre("2: 1, 1, 1", "26: 1, 1, 1"));
    EXPECT_THAT(texts(found[0].hours), ElementsAre("1: 1, 1, 1", "2: 1, 1, 1", "26: 1, 1, 1"));
    EXPECT_EQ(found[0].units[0].builds.at(0).build, "ef56");
    EXPECT_EQ(found[0].last_ns, monday + 26 * hour);
    question.unit = ActivityUnit::Day;
    question.filter.from_ns = monday;
    question.hourly_from_ns = 0;
    found = visit(question);
    EXPECT_THAT(texts(found.at(0).units), ElementsAre("0: 2, 2, 2", "24: 1, 1, 1"));
    EXPECT_THAT(found[0].units[0].builds, SizeIs(2));
    EXPECT_THAT(found[0].hours, IsEmpty());
    question.hosts_from_ns = monday + 27 * hour;
    EXPECT_EQ(visit(question).at(0).hosts, 0U);
}

TEST_F(ActivityStoreTest, TwentyThousandDelaysOfAnEventAreRead) {
    add_bundle(1, {delay(1, monday)});
    ASSERT_TRUE(
        backend_
            ->script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                     "i < 19999) INSERT INTO delay(bundle, number, delayed, event, "
                     "begin_ns, duration_ns, threshold_ns, host, process, thread, account, "
                     "build, start, pid, tid, details, profile, unit) SELECT bundle, i + 1, "
                     "1, event, begin_ns + i, duration_ns, 1, host, process, thread, "
                     "account, build, 0, 1, 1, '', profile, unit FROM delay, n")
            .ok());
    const auto all = visit(about(monday, monday + day));
    EXPECT_FALSE(all.at(0).delays_cut);
    EXPECT_EQ(all[0].units.at(0).delays, 20'000U);
    add_bundle(2, {delay(1, monday + hour)});
    const auto cut = visit(about(monday, monday + day));
    EXPECT_TRUE(cut.at(0).delays_cut);
    EXPECT_THAT(texts(cut[0].units), ElementsAre("0: 19999, 19999, 19999", "1: 1, 1, 1"));
}

TEST_F(ActivityStoreTest, HostsAreThoseSeenSinceThen) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, ms);
    beta.add(monday + 9 * hour, ms).unit = "web.service";
    add(1, alpha.batch);
    add(2, beta.batch);
    ActivityQuestion question = about(monday, monday + day);
    EXPECT_EQ(visit(question).at(0).hosts, 2U);
    question.hosts_from_ns = monday + hour;
    EXPECT_EQ(visit(question).at(0).hosts, 1U);
    question.filter.host = {"alpha"};
    EXPECT_EQ(visit(question).at(0).hosts, 0U) << "its last run was before";
    question.filter.host = {"alpha", "beta"};
    EXPECT_EQ(visit(question).at(0).hosts, 1U);
    question.filter.host = {};
    question.hosts_from_ns = monday;
    const auto web = visit(question, seen({}, {"web.*"}));
    ASSERT_THAT(web, SizeIs(1));
    EXPECT_EQ(web[0].hosts, 1U);
    EXPECT_THAT(web[0].begins, IsEmpty());
    EXPECT_THAT(texts(web[0].units), ElementsAre("9: 1, 0, 1"));
    EXPECT_THAT(visit(question, seen({"close"}, {})), IsEmpty());
}

TEST_F(ActivityStoreTest, HostsAreThoseOfTheFilterAndOfItsTime) {
    for (const auto& [number, host] :
         {std::pair(1, "alpha"), std::pair(2, "beta"), std::pair(3, "gamma")}) {
        BatchMaker maker(host);
        maker.add(monday + static_cast<std::uint64_t>(number) * hour, ms);
        add(static_cast<std::uint64_t>(number), maker.batch);
    }
    EXPECT_EQ(visit(about(monday, monday + 3 * hour)).at(0).hosts, 2U)
        << "gamma was first seen later";
    ActivityQuestion question = about(monday, monday + day);
    question.filter.host = {"alpha", "beta"};
    EXPECT_EQ(visit(question).at(0).hosts, 2U);
    question.filter.host = {"alpha"};
    question.hosts_from_ns = monday + hour;
    EXPECT_EQ(visit(question).at(0).hosts, 1U);
    question.hosts_from_ns = monday + hour + 1;
    EXPECT_EQ(visit(question).at(0).hosts, 0U);
}

TEST_F(ActivityStoreTest, HostsOfAPartOfAnEventAreThoseSinceThenToo) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, ms).unit = "web.service";
    beta.add(monday + 9 * hour, ms).unit = "web.service";
    add(1, alpha.batch);
    add(2, beta.batch);
    ActivityQuestion question = about(monday, monday + day);
    EXPECT_EQ(visit(question, seen({}, {"web.*"})).at(0).hosts, 2U);
    question.hosts_from_ns = monday + hour;
    EXPECT_EQ(visit(question, seen({}, {"web.*"})).at(0).hosts, 1U);
}

TEST_F(ActivityStoreTest, DelaysInBundlesAreThoseOfTheEventAndTheFilter) {
    BatchMaker maker;
    maker.add(monday + hour, ms);
    maker.add(monday + hour, ms, "close");
    add(1, maker.batch);
    std::vector<BundleDelay> delays = {delay(1, monday + 2 * hour), delay(2, monday + 30 * hour)};
    delays[1].event = "close";
    add_bundle(1, delays, "beta");
    add_bundle(2, {delay(1, monday + 3 * hour)}, "gamma");
    ActivityQuestion question = about(monday, monday + day);
    const auto found = visit(question);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].event, "close");
    EXPECT_EQ(found[0].delayed_hosts, 0U) << "its delay was later";
    EXPECT_EQ(found[1].delayed_hosts, 2U);
    question.filter.build = {"nobody's"};
    EXPECT_THAT(visit(question), IsEmpty());
}

TEST_F(ActivityStoreTest, HoursBeginWhereTheyAreWanted) {
    BatchMaker maker;
    for (const std::uint64_t at : {1, 5, 30, 49}) maker.add(monday + at * hour, ms);
    add(1, maker.batch);
    ActivityQuestion question = about(monday + 5 * hour, monday + 2 * day);
    question.hourly_from_ns = monday + 30 * hour;
    auto found = visit(question);
    EXPECT_THAT(texts(found.at(0).units), ElementsAre("5: 1, 0, 1", "30: 1, 0, 1"));
    EXPECT_THAT(texts(found[0].hours), ElementsAre("30: 1, 0, 1"));
    question.hourly_from_ns = monday;
    found = visit(question);
    EXPECT_THAT(texts(found.at(0).units), ElementsAre("5: 1, 0, 1", "30: 1, 0, 1"));
    EXPECT_THAT(texts(found[0].hours), ElementsAre("1: 1, 0, 1", "5: 1, 0, 1", "30: 1, 0, 1"));
    question.unit = ActivityUnit::Day;
    question.filter.from_ns = question.hosts_from_ns = monday + day;
    found = visit(question);
    EXPECT_THAT(texts(found.at(0).units), ElementsAre("24: 1, 0, 1"));
    EXPECT_THAT(texts(found[0].hours), ElementsAre("1: 1, 0, 1", "5: 1, 0, 1", "30: 1, 0, 1"));
    question.hourly_from_ns = 0;
    found = visit(question);
    EXPECT_THAT(texts(found.at(0).units), ElementsAre("24: 1, 0, 1"));
    EXPECT_THAT(found[0].hours, IsEmpty());
    // All runs of a user are read, so that hours begin with the filter.
    question.filter.user = {"ann"};
    question.hourly_from_ns = monday;
    found = visit(question);
    EXPECT_THAT(texts(found.at(0).units), ElementsAre("24: 1, 0, 1"));
    EXPECT_THAT(texts(found[0].hours), ElementsAre("30: 1, 0, 1"));
    EXPECT_THAT(found[0].begins, IsEmpty());
}

TEST_F(ActivityStoreTest, BuildsOfOtherEventsDoNotBeginInIt) {
    BatchMaker maker;
    maker.add(monday + hour, ms).build_id = "v1";
    maker.add(monday + hour, ms, "close").build_id = "v2";
    add(1, maker.batch);
    ActivityQuestion question = about(monday, monday + day);
    question.hourly_from_ns = monday;
    const auto found = visit(question);
    ASSERT_THAT(found, SizeIs(2));
    ASSERT_THAT(found[1].begins, SizeIs(1));
    EXPECT_EQ(found[1].begins[0].build, "v1");
}

TEST_F(ActivityStoreTest, ASearchIsPartOfAName) {
    BatchMaker maker;
    for (const char* event : {"opEn file", "open socket", "close"}) maker.add(monday, ms, event);
    add(1, maker.batch);
    const auto names = [&](const std::string& search, std::optional<std::string> event = {}) {
        ActivityQuestion question = about(monday, monday + day);
        question.search = search;
        question.filter.event = std::move(event);
        std::vector<std::string> found;
        for (const EventActivity& one : visit(question)) found.push_back(one.event);
        return found;
    };
    EXPECT_THAT(names("OPEN"), ElementsAre("opEn file", "open socket"));
    EXPECT_THAT(names(""), ElementsAre("close", "opEn file", "open socket"));
    EXPECT_THAT(names("x"), IsEmpty());
    EXPECT_THAT(names("ignored", "close"), ElementsAre("close"));
}

TEST_F(ActivityStoreTest, BuildsThatFirstRanSinceThenBegin) {
    BatchMaker maker;
    maker.add(monday, ms).build_id = "old";
    maker.add(monday + 5 * hour, ms).build_id = "new";
    maker.add(monday + 6 * hour, ms).build_id = "old";
    add(1, maker.batch);
    ActivityQuestion question = about(monday + 5 * hour, monday + day);
    EXPECT_THAT(visit(question).at(0).begins, IsEmpty()) << "without a time for hours";
    question.hourly_from_ns = monday + 5 * hour;
    const auto found = visit(question);
    ASSERT_THAT(found.at(0).begins, SizeIs(1));
    EXPECT_EQ(found[0].begins[0].build, "new");
    EXPECT_EQ(found[0].begins[0].at_ns, monday + 5 * hour);
    question.hourly_from_ns = monday;
    EXPECT_THAT(visit(question).at(0).begins, SizeIs(2));
}

}  // namespace
}  // namespace lagtrap::server::activity_store_test
