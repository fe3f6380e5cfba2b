#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::activity_contract_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ActivityContract : public StoreTest {
  protected:
    std::vector<EventActivity> activity(const ActivityQuestion& question) {
        std::vector<EventActivity> found;
        const Status looked = everything().activity().visit(question, [&](EventActivity&& event) {
            found.push_back(std::move(event));
            return success();
        });
        EXPECT_TRUE(looked.ok()) << (looked.ok() ? "" : looked.error().message);
        return found;
    }
    static ActivityQuestion asked(std::uint64_t from_ns, std::uint64_t to_ns) {
        ActivityQuestion question;
        question.filter.from_ns = question.hosts_from_ns = from_ns;
        question.filter.to_ns = to_ns;
        return question;
    }
    void add(std::uint64_t number, const BatchMaker& maker) {
        ASSERT_EQ(must(store_->batches().add_batch(receipt_of(number), maker.batch)),
                  AddOutcome::New);
    }
};

TEST_F(ActivityContract, CountsRunsByEventAndHour) {
    BatchMaker alpha("alpha"), beta("beta");
    for (std::uint64_t i = 0; i < 10; ++i) alpha.add(monday + i * second, 10 * ms);
    alpha.add(monday + hour, 100 * ms).build_id = "ef56";
    alpha.add(monday + hour + 1, 10 * ms).dirty_reasons = trace::DirtySuspended;
    alpha.add(monday + 30 * hour, 10 * ms);
    beta.add(monday + hour + 5, 20 * ms, "Close").weight = 7;
    add(1, alpha);
    add(2, beta);
    const auto found = activity(asked(monday, monday + day));
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].event, "Close");
    EXPECT_EQ(found[0].units[0].runs, 7U);
    const EventActivity& open = found[1];
    EXPECT_TRUE(open.runs_recorded);
    EXPECT_EQ(open.hosts, 1U);
    EXPECT_EQ(open.last_ns, monday + hour);
    ASSERT_THAT(open.units, SizeIs(2));
    EXPECT_EQ(open.units[0].from_ns, monday);
    EXPECT_EQ(open.units[0].runs, 10U);
    EXPECT_EQ(open.units[0].durations.count(), 10U);
    EXPECT_EQ(open.units[1].runs, 1U);
    EXPECT_EQ(open.units[1].delays, 1U);
    ASSERT_THAT(open.units[1].builds, SizeIs(1));
    EXPECT_EQ(open.units[1].builds[0].build, "ef56");

    ActivityQuestion days = asked(monday, monday + 2 * day);
    days.unit = ActivityUnit::Day;
    days.search = "OPE";
    const auto by_day = activity(days);
    ASSERT_THAT(by_day, SizeIs(1));
    ASSERT_THAT(by_day[0].units, SizeIs(2));
    EXPECT_EQ(by_day[0].units[0].runs, 11U);
    EXPECT_EQ(by_day[0].units[1].from_ns, monday + day);

    ActivityQuestion of_host = asked(monday, monday + day);
    of_host.filter.host = {"beta"};
    ASSERT_THAT(activity(of_host), SizeIs(1));
    EXPECT_EQ(activity(of_host)[0].hosts, 1U);
    EXPECT_THAT(activity(asked(monday + 3 * day, monday + 4 * day)), IsEmpty());
}

TEST_F(ActivityContract, HoursAndFirstRunsReachBackFurtherThanThePeriod) {
    BatchMaker maker("alpha");
    maker.add(monday + 2 * hour + 5, 10 * ms);
    maker.add(monday + day + hour + 7, 10 * ms).build_id = "ef56";
    maker.add(monday + 2 * day, 100 * ms);
    add(1, maker);
    for (const ActivityUnit unit : {ActivityUnit::Hour, ActivityUnit::Day}) {
        ActivityQuestion question = asked(monday + 2 * day, monday + 3 * day);
        question.unit = unit;
        question.hourly_from_ns = monday + hour;
        const auto found = activity(question);
        ASSERT_THAT(found, SizeIs(1));
        ASSERT_THAT(found[0].units, SizeIs(1));
        EXPECT_EQ(found[0].units[0].from_ns, monday + 2 * day);
        ASSERT_THAT(found[0].hours, SizeIs(3));
        EXPECT_EQ(found[0].hours[0].from_ns, monday + 2 * hour);
        EXPECT_EQ(found[0].hours[1].builds[0].build, "ef56");
        EXPECT_EQ(found[0].hours[2].delays, 1U);
        ASSERT_THAT(found[0].begins, SizeIs(2));
        std::uint64_t first_ns = 0;
        for (const FirstRun& begin : found[0].begins)
            if (begin.build == "ef56") first_ns = begin.at_ns;
        EXPECT_EQ(first_ns, monday + day + hour + 7);
        // All runs are read with a host, so that hours do not begin before the period.
        question.filter.host = {"alpha"};
        EXPECT_THAT(activity(question)[0].hours, SizeIs(1));
    }
    EXPECT_THAT(activity(asked(monday, monday + 3 * day))[0].hours, IsEmpty());
}

TEST_F(ActivityContract, AnEventOfWhichDelaysAloneAreRecordedHasThem) {
    BundleRow bundle;
    bundle.digest = receipt_of(9).digest;
    ASSERT_EQ(must(store_->inventory().add(bundle, {"parse", bundle.digest, monday})),
              AddOutcome::New);
    BundleFacts facts;
    facts.host = "gamma";
    std::vector<BundleDelay> delays(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
        delays[i].number = i + 1;
        delays[i].event = "import";
        delays[i].begin_realtime_ns = monday + i * hour;
        delays[i].duration_ns = (i + 1) * second;
        delays[i].build = "cd34";
    }
    ASSERT_TRUE(must(store_->inventory().set_contents(bundle.digest, facts, {}, delays)));
    ActivityQuestion question = asked(monday, monday + day);
    question.hosts_from_ns = monday + 2 * hour;
    const auto found = activity(question);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_FALSE(found[0].runs_recorded);
    EXPECT_EQ(found[0].delayed_hosts, 1U);
    ASSERT_THAT(found[0].units, SizeIs(3));
    EXPECT_EQ(found[0].units[2].delays, 1U);
    EXPECT_EQ(found[0].last_ns, monday + 2 * hour);
}

TEST_F(ActivityContract, StopsWithTheErrorThatIsGiven) {
    BatchMaker maker;
    maker.add(monday, ms, "a");
    maker.add(monday, ms, "b");
    add(1, maker);
    int taken = 0;
    const Status looked =
        everything().activity().visit(asked(monday, monday + day), [&](EventActivity&&) -> Status {
            ++taken;
            return make_error(ErrorKind::Invalid, "enough");
        });
    EXPECT_FALSE(looked.ok());
    EXPECT_EQ(taken, 1);
    EXPECT_FALSE(everything().activity().visit({}, [](EventActivity&&) { return success(); }).ok());
}

TEST_F(ActivityContract, BuildsHaveTheNamesThatWereGivenLast) {
    EXPECT_THAT(must(everything().builds().build_labels()), IsEmpty());
    ASSERT_TRUE(everything().builds().label_build({"cd34", "v1", "ann", monday}).ok());
    ASSERT_TRUE(everything().builds().label_build({"ef56", "v2", "ann", monday + 1}).ok());
    ASSERT_TRUE(everything().builds().label_build({"cd34", "v1.1", "rita", monday + 2}).ok());
    const auto labels = must(everything().builds().build_labels());
    ASSERT_THAT(labels, SizeIs(2));
    EXPECT_EQ(labels[0].build, "cd34");
    EXPECT_EQ(labels[0].name, "v1.1");
    EXPECT_EQ(labels[0].by, "rita");
    ASSERT_TRUE(everything().builds().label_build({"cd34", "", "rita", monday + 3}).ok());
    reopen();
    EXPECT_THAT(must(everything().builds().build_labels()), SizeIs(1));
}

TEST_F(ActivityContract, MachinesNameBuildsThatHaveRunsAndNoName) {
    BatchMaker maker;
    maker.add(monday, ms).build_id = "cd34";
    maker.add(monday, ms).build_id = "ef56";
    add(1, maker);
    ASSERT_TRUE(everything().builds().label_build({"cd34", "v1", "ann", monday}).ok());
    ASSERT_TRUE(everything()
                    .builds()
                    .name_builds({{"cd34", "1.2-3", "(package)", monday + 1},
                                  {"ef56", "1.2-4", "(package)", monday + 1},
                                  {"0000", "1.2-5", "(package)", monday + 1}})
                    .ok());
    ASSERT_TRUE(
        everything().builds().name_builds({{"ef56", "1.2-6", "(package)", monday + 2}}).ok());
    const auto labels = must(everything().builds().build_labels());
    ASSERT_THAT(labels, SizeIs(2));
    EXPECT_EQ(labels[0].build, "ef56");
    EXPECT_EQ(labels[0].name, "1.2-4");
    EXPECT_EQ(labels[1].name, "v1");
    ASSERT_TRUE(everything().builds().name_builds({}).ok());
}

}  // namespace
}  // namespace lagtrap::server::activity_contract_test
