#include "server/store/event_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::event_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class EventStoreTest : public DelaysStoreTest {
  protected:
    static std::vector<std::string> names(const EventPage& page) {
        std::vector<std::string> found;
        for (const EventRow& row : page.events) found.push_back(row.event);
        return found;
    }
    EventRow only(const Filter& filter) {
        const auto events = must(everything().events().list(filter, "", 10, {})).events;
        EXPECT_THAT(events, SizeIs(1));
        return events.empty() ? EventRow{} : events[0];
    }
    void lose(std::uint64_t number, const std::string& host, std::uint64_t lost,
              std::uint64_t at_ns) {
        BatchMaker maker(host);
        maker.batch.runs_lost = lost;
        ASSERT_EQ(must(store_->batches().add_batch(receipt_of(number, at_ns), maker.batch)),
                  AddOutcome::New);
    }
};

TEST_F(EventStoreTest, AnEventCountsItsRunsAndTheirDelays) {
    BatchMaker maker;
    maker.add(monday, 100 * ms).weight = 3;
    maker.add(monday + hour, 10 * ms).weight = 5;
    maker.add(monday + 2 * hour, 100 * ms).dirty_reasons = trace::DirtyFailed;
    add(1, maker.batch);
    add_bundle(1, {delay(1, monday), delay(2, monday + 5 * hour), normal_run(monday + 9 * hour)},
               "beta");
    add_bundle(2, {delay(1, monday), delay(2, monday + 4 * hour)});
    add_bundle(3, {normal_run(monday)});
    const EventRow row = only({});
    EXPECT_EQ(row.event, "open");
    EXPECT_EQ(row.runs, 8U);
    EXPECT_EQ(row.delays, 3U) << "as many as the event's page shows: delays of runs";
    EXPECT_EQ(row.bundles, 2U);
    EXPECT_EQ(row.hosts, 2U);
    EXPECT_EQ(row.last_realtime_ns, monday + 5 * hour);
    Filter dirty;
    dirty.with_dirty = true;
    EXPECT_EQ(only(dirty).runs, 9U);
    Filter early;
    early.to_ns = monday + 1;
    EXPECT_EQ(only(early).last_realtime_ns, monday);
    EXPECT_EQ(only(early).runs, 3U);
}

TEST_F(EventStoreTest, TheLastRunIsOlderThanTheLastDelayOrNot) {
    BatchMaker maker;
    maker.add(monday + 9 * hour, 10 * ms);
    add(1, maker.batch);
    add_bundle(1, {delay(1, monday)});
    EXPECT_EQ(only({}).last_realtime_ns, monday + 9 * hour);
}

TEST_F(EventStoreTest, PagesAreInOrderOfTheLastRunThenOfTheName) {
    BatchMaker maker;
    for (const char* event : {"a", "b", "c", "d"}) maker.add(monday, ms, event);
    maker.add(monday + 1, ms, "a");
    add(1, maker.batch);
    std::vector<std::string> found;
    std::optional<PageKey> after;
    do {
        const EventPage page = must(everything().events().list({}, "", 2, after));
        EXPECT_THAT(page.events, SizeIs(2));
        for (const std::string& name : names(page)) found.push_back(name);
        after = page.next;
    } while (after);
    EXPECT_THAT(found, SizeIs(4));
    EXPECT_EQ(found[0], "a");
    EXPECT_THAT(found, testing::UnorderedElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(names(must(everything().events().list({}, "", 0, {}))), ElementsAre("a"));
    EXPECT_THAT(names(must(everything().events().list({}, "none", 9, {}))), IsEmpty());
    EXPECT_THAT(names(must(everything().events().list(event_filter("c"), "", 9, {}))),
                ElementsAre("c"));
}

TEST_F(EventStoreTest, HostsAreThoseOfTheTimeAndTheFilter) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, ms);
    alpha.add(monday + 10 * hour, ms);
    beta.add(monday + 5 * hour, ms);
    add(1, alpha.batch);
    add(2, beta.batch);
    EXPECT_EQ(only({}).hosts, 2U);
    Filter filter;
    filter.from_ns = monday + 6 * hour;
    EXPECT_EQ(only(filter).hosts, 1U);
    filter.from_ns = {};
    filter.to_ns = monday + 5 * hour;
    EXPECT_EQ(only(filter).hosts, 1U);
    filter = {};
    filter.host = {"beta"};
    EXPECT_EQ(only(filter).hosts, 1U);
    filter = event_filter();
    EXPECT_EQ(only(filter).hosts, 2U);
}

TEST_F(EventStoreTest, NamesAreOfEventsWithRunsOrDelaysInOrder) {
    BatchMaker maker;
    maker.add(monday, ms, "zoom");
    maker.add(monday, ms, "close").unit = "web.service";
    add(1, maker.batch);
    BundleDelay made = delay(1, monday);
    made.event = "import";
    made.unit = "web.service";
    BundleDelay normal = normal_run(monday);
    normal.event = "normal only";
    add_bundle(1, {made, normal});
    EXPECT_THAT(must(everything().events().names()), ElementsAre("close", "import", "zoom"));
    EXPECT_THAT(must(seen({"zoom", "import"}, {"web.*"}).events().names()),
                ElementsAre("close", "import", "zoom"));
    EXPECT_THAT(must(seen({"zoom"}, {}).events().names()), ElementsAre("zoom"));
}

TEST_F(EventStoreTest, OfAPartlyVisibleEventOnlyVisibleHostsRunsAndDelaysCount) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, 90 * ms).unit = "web.service";
    alpha.add(monday + hour, 90 * ms).unit = "db.service";
    beta.add(monday + hour, ms, "whole").unit = "web.service";
    add(1, alpha.batch);
    add(2, beta.batch);
    BundleDelay web = delay(1, monday + 5 * hour), db = delay(2, monday + 6 * hour);
    web.unit = "web.service";
    db.unit = "db.service";
    add_bundle(1, {web, db}, "gamma");
    const auto rows = must(seen({"whole"}, {"web.*"}).events().list({}, "", 9, {})).events;
    ASSERT_THAT(rows, SizeIs(2));
    EXPECT_EQ(rows[0].event, "open");
    EXPECT_EQ(rows[0].runs, 1U);
    EXPECT_EQ(rows[0].delays, 1U);
    EXPECT_EQ(rows[0].hosts, 2U);
    EXPECT_EQ(rows[0].bundles, 1U);
    EXPECT_EQ(rows[0].last_realtime_ns, monday + 5 * hour);
    EXPECT_EQ(rows[1].event, "whole");
    EXPECT_EQ(rows[1].runs, 1U);
    EXPECT_EQ(rows[1].hosts, 1U);
}

TEST_F(EventStoreTest, LossesAreByHostMostFirstThenByNumber) {
    lose(1, "beta", 5, monday + 9);
    lose(2, "alpha", 5, monday + 3);
    lose(3, "gamma", 9, monday + 1);
    lose(4, "gamma", 1, monday);
    const Losses all = must(everything().events().losses({}));
    EXPECT_EQ(all.runs, 20U);
    std::vector<std::string> hosts;
    for (const HostLosses& host : all.hosts)
        hosts.push_back(host.host + " " + std::to_string(host.runs) + " " +
                        std::to_string(host.last_realtime_ns - monday));
    EXPECT_THAT(hosts, ElementsAre("gamma 10 1", "beta 5 9", "alpha 5 3"));
    Filter filter;
    filter.from_ns = monday + 1;
    filter.to_ns = monday + 9;
    EXPECT_EQ(must(everything().events().losses(filter)).runs, 14U);
    filter.host = {"gamma", "alpha"};
    filter.to_ns = {};
    EXPECT_EQ(must(everything().events().losses(filter)).runs, 14U);
}

TEST_F(EventStoreTest, LossesOfHostsInSightNeedSomethingVisibleInTheTime) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, ms).unit = "web.service";
    alpha.batch.runs_lost = 3;
    beta.batch.runs_lost = 9;
    beta.add(monday, ms).unit = "db.service";
    add(1, alpha.batch);
    add(2, beta.batch);
    BundleDelay web = delay(1, monday);
    web.unit = "web.service";
    EXPECT_EQ(must(seen({}, {"web.*"}).events().losses({})).runs, 3U);
    add_bundle(1, {web}, "beta");
    EXPECT_EQ(must(seen({}, {"web.*"}).events().losses({})).runs, 12U) << "by its delays";
}

}  // namespace
}  // namespace lagtrap::server::event_store_test
