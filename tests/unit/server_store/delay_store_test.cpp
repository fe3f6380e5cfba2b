#include "server/store/delay_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::delay_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Numbers = std::vector<std::uint32_t>;

Numbers numbers_of(const std::vector<StoredDelay>& delays) {
    Numbers numbers;
    for (const StoredDelay& stored : delays) numbers.push_back(stored.delay.number);
    return numbers;
}

class DelayStoreTest : public CausesStoreTest {
  protected:
    DelayPage page(const Filter& filter, RunOrder order = RunOrder::Newest,
                   std::uint32_t limit = 1000, std::optional<PageKey> after = {}) {
        return must(everything().delays().list_delays(filter, {}, order, limit, after));
    }
    Numbers listed(const Filter& filter) { return numbers_of(page(filter).delays); }
    std::vector<std::string> profiles(const Filter& filter, bool delayed = true,
                                      std::uint32_t limit = 1000) {
        std::vector<std::string> found;
        EXPECT_TRUE(
            everything().delays().profiles(filter, delayed, limit, [&](StoredDelay&& stored) {
                found.push_back(stored.delay.profile);
                return true;
            }));
        return found;
    }
};

TEST_F(DelayStoreTest, ADelayComesBackAsItWas) {
    BundleDelay made = delay(3, monday + 5, 120 * ms);
    made.threshold_ns = 60 * ms;
    made.pid = 7;
    made.tid = 8;
    made.process =
        "pro\x1b"
        "cess";
    made.thread = "thread";
    made.user = "user";
    made.build = "build";
    made.unit = "unit";
    made.trace_id = "0123456789abcdef0123456789abcdef";
    made.start = trace::StartKind::Cold;
    made.details = "{\"x\":1}";
    add_bundle(1, {made}, "beta");
    const DelayStore delays = everything().delays();
    const StoredDelay whole = must(delays.find_delay(digest_of(1), 3)).value();
    EXPECT_EQ(whole.delay.profile, "profile 3");
    EXPECT_EQ(must(delays.of_bundle(digest_of(1))).at(0).delay.profile, "profile 3");
    for (const StoredDelay& stored :
         {whole, must(delays.of_bundle(digest_of(1))).at(0),
          must(delays.of_trace(made.trace_id, 10)).at(0), page(event_filter()).delays.at(0)}) {
        EXPECT_EQ(stored.bundle, digest_of(1));
        EXPECT_EQ(stored.host, "beta");
        EXPECT_FALSE(stored.run.has_value());
        const BundleDelay& found = stored.delay;
        EXPECT_EQ(found.number, 3U);
        EXPECT_TRUE(found.delayed);
        EXPECT_EQ(found.event, "open");
        EXPECT_EQ(found.begin_realtime_ns, monday + 5);
        EXPECT_EQ(found.duration_ns, 120 * ms);
        EXPECT_EQ(found.threshold_ns, 60 * ms);
        EXPECT_EQ(found.pid, 7U);
        EXPECT_EQ(found.tid, 8U);
        EXPECT_EQ(found.process,
                  "pro\\x1b"
                  "cess");
        EXPECT_EQ(found.thread, "thread");
        EXPECT_EQ(found.user, "user");
        EXPECT_EQ(found.build, "build");
        EXPECT_EQ(found.unit, "unit");
        EXPECT_EQ(found.trace_id, made.trace_id);
        EXPECT_EQ(found.start, trace::StartKind::Cold);
        EXPECT_EQ(found.details, "{\"x\":1}");
    }
    // Lists are without profiles, which are large.
    EXPECT_EQ(must(delays.of_trace(made.trace_id, 10)).at(0).delay.profile, "");
    EXPECT_EQ(page(event_filter()).delays.at(0).delay.profile, "");
}

TEST_F(DelayStoreTest, NormalRunsAreNoDelays) {
    BundleDelay normal = normal_run(monday);
    normal.trace_id = "trace";
    add_bundle(1, {delay(2, monday), normal, delay(1, monday + 1)});
    const DelayStore delays = everything().delays();
    EXPECT_THAT(numbers_of(must(delays.of_bundle(digest_of(1)))), ElementsAre(1, 2));
    EXPECT_FALSE(must(delays.find_delay(digest_of(1), 0)).has_value());
    EXPECT_FALSE(must(delays.find_delay(digest_of(2), 1)).has_value());
    EXPECT_THAT(listed(event_filter()), ElementsAre(1, 2));
    EXPECT_THAT(must(delays.of_trace("trace", 10)), IsEmpty());
    EXPECT_EQ(must(delays.summarise_delays(event_filter())).delays, 2U);
    EXPECT_EQ(must(delays.searched_delays(event_filter())).delays, 2U);
    EXPECT_THAT(must(delays.searched_by_day(event_filter())), ElementsAre(Pair(monday, 2U)));
    EXPECT_THAT(profiles(event_filter()), ElementsAre("profile 1", "profile 2"));
    EXPECT_THAT(profiles(event_filter(), false), ElementsAre("normal"));
}

TEST_F(DelayStoreTest, EachPartOfAFilterSelects) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 7; ++number)
        delays.push_back(delay(number, monday + number * hour));
    delays[1].user = "bob";
    delays[2].build = "ef56";
    delays[3].process = "other";
    delays[4].unit = "web.service";
    delays[5].start = trace::StartKind::Cold;
    delays[6].event = "close";
    add_bundle(1, delays);
    add_bundle(2, {delay(8, monday + 8 * hour)}, "beta");
    const auto only = [&](auto change) {
        Filter filter = event_filter();
        change(filter);
        const Numbers found = listed(filter);
        EXPECT_EQ(must(everything().delays().summarise_delays(filter)).delays, found.size());
        EXPECT_EQ(must(everything().delays().searched_delays(filter)).delays, found.size());
        EXPECT_THAT(profiles(filter), SizeIs(found.size()));
        return found;
    };
    EXPECT_THAT(only([](Filter& f) { f.user = {"bob"}; }), ElementsAre(2));
    EXPECT_THAT(only([](Filter& f) { f.build = {"ef56"}; }), ElementsAre(3));
    EXPECT_THAT(only([](Filter& f) { f.process = {"other"}; }), ElementsAre(4));
    EXPECT_THAT(only([](Filter& f) { f.unit = {"web.service"}; }), ElementsAre(5));
    EXPECT_THAT(only([](Filter& f) { f.start = trace::StartKind::Cold; }), ElementsAre(6));
    EXPECT_THAT(only([](Filter& f) { f.event = "close"; }), ElementsAre(7));
    EXPECT_THAT(only([](Filter& f) { f.host = {"beta"}; }), ElementsAre(8));
    EXPECT_THAT(only([](Filter& f) {
                    f.from_ns = monday + 2 * hour;
                    f.to_ns = monday + 4 * hour;
                }),
                ElementsAre(3, 2));
    EXPECT_THAT(only([](Filter& f) { f.host = {"nobody"}; }), IsEmpty());
    EXPECT_THAT(
        must(everything().delays().list_delays({}, digest_of(2), RunOrder::Newest, 9, {})).delays,
        SizeIs(1));
}

TEST_F(DelayStoreTest, APageHasAtLeastOneAndAtMostAThousand) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 1002; ++number)
        delays.push_back(delay(number, monday + number, 60 * ms));
    add_bundle(1, delays);
    EXPECT_THAT(page(event_filter(), RunOrder::Newest, 0).delays, SizeIs(1));
    const DelayPage full = page(event_filter(), RunOrder::Newest, 5000);
    EXPECT_THAT(full.delays, SizeIs(1000));
    EXPECT_THAT(numbers_of(page(event_filter(), RunOrder::Newest, 5000, full.next).delays),
                ElementsAre(2, 1));
    Filter some = event_filter();
    some.to_ns = monday + 4;
    EXPECT_FALSE(page(some, RunOrder::Newest, 3).next.has_value()) << "exactly what fits";
}

TEST_F(DelayStoreTest, EqualOnesAreOrderedByArrivalAndPagesMissNone) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 7; ++number)
        delays.push_back(delay(number, monday + number / 4, (60 + number / 4) * ms));
    add_bundle(1, delays);
    const auto in_pages = [&](RunOrder order) {
        Numbers all;
        std::optional<PageKey> after;
        do {
            const DelayPage part = page(event_filter(), order, 2, after);
            for (const std::uint32_t number : numbers_of(part.delays)) all.push_back(number);
            after = part.next;
        } while (after);
        return all;
    };
    EXPECT_THAT(in_pages(RunOrder::Newest), ElementsAre(7, 6, 5, 4, 3, 2, 1));
    EXPECT_THAT(in_pages(RunOrder::Slowest), ElementsAre(7, 6, 5, 4, 3, 2, 1));
    EXPECT_THAT(in_pages(RunOrder::Oldest), ElementsAre(1, 2, 3, 4, 5, 6, 7));
    delays[0].duration_ns = 900 * ms;
    add_bundle(2, {delays[0]});
    EXPECT_THAT(numbers_of(page(event_filter(), RunOrder::Slowest, 2).delays), ElementsAre(1, 7));
}

TEST_F(DelayStoreTest, ATraceListsItsNewestDelays) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 4; ++number) {
        delays.push_back(delay(number, monday + number / 3));
        delays.back().trace_id = number == 4 ? "other" : "one";
    }
    add_bundle(1, delays);
    EXPECT_THAT(numbers_of(must(everything().delays().of_trace("one", 10))), ElementsAre(3, 2, 1));
    EXPECT_THAT(numbers_of(must(everything().delays().of_trace("one", 2))), ElementsAre(3, 2));
    EXPECT_THAT(must(everything().delays().of_trace("", 10)), IsEmpty());
}

TEST_F(DelayStoreTest, ASummaryCountsDelaysByHourHostBuildAndUnit) {
    BundleDelay first = delay(1, monday + 10, 300 * ms), same = delay(2, monday + 20, 70 * ms),
                newest = delay(3, monday + 2 * hour, 80 * ms);
    first.build = "old";
    same.unit = newest.unit = "web.service";
    newest.threshold_ns = 75 * ms;
    add_bundle(1, {newest, first, same});
    add_bundle(2, {delay(1, monday + hour, 60 * ms)}, "beta");
    const DelaySummary found = must(everything().delays().summarise_delays(event_filter()));
    EXPECT_EQ(found.delays, 4U);
    EXPECT_EQ(found.delays_read, 4U);
    EXPECT_EQ(found.threshold_ns, 75 * ms);
    EXPECT_EQ(found.summary.longest_ns, 300 * ms);
    EXPECT_EQ(found.summary.counts.records, 4U);
    EXPECT_EQ(found.summary.counts.runs, 4U);
    EXPECT_EQ(found.summary.counts.delays, 4U);
    EXPECT_EQ(found.summary.durations.count(), 4U);
    EXPECT_EQ(found.summary.delay_durations, found.summary.durations);
    std::vector<std::string> hours;
    for (const HourCount& one : found.summary.hours)
        hours.push_back(std::to_string((one.hour_ns - monday) / hour) + " " +
                        std::to_string(one.runs) + " " + std::to_string(one.delays));
    EXPECT_THAT(hours, ElementsAre("0 2 2", "1 1 1", "2 1 1"));
    const auto counts = [](const std::vector<DelayCount>& list) {
        std::vector<std::string> texts;
        for (const DelayCount& one : list)
            texts.push_back(one.name + " " + std::to_string(one.delays) + " " +
                            std::to_string(one.longest_ns / ms));
        return texts;
    };
    EXPECT_THAT(counts(found.hosts), ElementsAre("alpha 3 300", "beta 1 60"));
    EXPECT_THAT(counts(found.builds), ElementsAre("cd34 3 80", "old 1 300"));
    EXPECT_THAT(counts(found.units), testing::UnorderedElementsAre("web.service 2 80", " 2 300"));
}

TEST_F(DelayStoreTest, ASummaryNamesAThousandHosts) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 1001; ++number) {
        delays.push_back(delay(number, monday + number));
        delays.back().build = "build " + std::to_string(number);
    }
    add_bundle(1, delays);
    EXPECT_THAT(must(everything().delays().summarise_delays(event_filter())).builds, SizeIs(1000));
}

TEST_F(DelayStoreTest, QuestionsAboutAnEventNeedOne) {
    const DelayStore delays = everything().delays();
    EXPECT_EQ(delays.summarise_delays({}).error().kind, ErrorKind::Invalid);
    EXPECT_EQ(delays.searched_delays({}).error().kind, ErrorKind::Invalid);
    EXPECT_EQ(delays.searched_by_day({}).error().kind, ErrorKind::Invalid);
}

TEST_F(DelayStoreTest, SearchedAreThoseWithAProfileByDay) {
    BundleDelay without = delay(1, monday);
    without.profile.clear();
    add_bundle(1, {without, delay(2, monday + day - 1), delay(3, monday + day),
                   delay(4, monday + day + hour)});
    EXPECT_EQ(must(everything().delays().searched_delays(event_filter())).delays, 3U);
    EXPECT_THAT(must(everything().delays().searched_by_day(event_filter())),
                ElementsAre(Pair(monday, 1U), Pair(monday + day, 2U)));
    Filter first_day = event_filter();
    first_day.to_ns = monday + day;
    EXPECT_THAT(must(everything().delays().searched_by_day(first_day)),
                ElementsAre(Pair(monday, 1U)));
}

TEST_F(DelayStoreTest, ADelayOfACauseAndItsPartCountsOnce) {
    const auto delays = add_delays(1, monday);
    const std::uint64_t root = new_cause("a", {delays[0], delays[1], delays[2]}),
                        other = new_cause("other", {delays[3]});
    make_part(new_cause("b", {delays[1], delays[2], delays[3]}), root);
    EXPECT_THAT(must(everything().delays().searched_delays(event_filter())).of_cause,
                ElementsAre(Pair(root, 4U), Pair(other, 1U)));
}

TEST_F(DelayStoreTest, ProfilesStopWhenTheReaderHasEnough) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 401; ++number)
        delays.push_back(delay(number, monday + number / 2));
    delays[400].profile.clear();
    add_bundle(1, delays);
    const auto all = profiles(event_filter());
    ASSERT_THAT(all, SizeIs(400));
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], "profile " + std::to_string(400 - i));
    EXPECT_THAT(profiles(event_filter(), true, 201), SizeIs(201));
    EXPECT_THAT(profiles(event_filter(), true, 0), IsEmpty());
    int taken = 0;
    ASSERT_TRUE(everything().delays().profiles(event_filter(), true, 1000,
                                               [&](StoredDelay&&) { return ++taken < 203; }));
    EXPECT_EQ(taken, 203);
}

TEST_F(DelayStoreTest, ProfilesOfHiddenRunsAreLeftOutUnlessWanted) {
    BatchMaker maker;
    std::vector<BundleDelay> delays;
    for (std::uint32_t number = 1; number <= 3; ++number) {
        maker.add(monday + number * hour, 100 * ms);
        delays.push_back(delay(number, monday + number * hour));
    }
    add(1, maker.batch);
    delays.push_back(delay(4, monday + 9 * hour));
    add_bundle(1, delays);
    const auto stored = must(everything().delays().of_bundle(digest_of(1)));
    const auto mark = [&](std::size_t place, bool dirty, const char* rule) {
        ASSERT_EQ(must(everything().marks().mark_dirty(
                      {{stored.at(place).run.value(), dirty, rule, "", "", 1}})),
                  1U);
    };
    mark(0, true, "mad");
    mark(1, true, rule_duration);
    mark(2, true, "mad");
    mark(2, false, rule_by_hand);
    Filter filter = event_filter();
    EXPECT_THAT(profiles(filter), ElementsAre("profile 4", "profile 3", "profile 2"));
    filter.with_dirty = true;
    EXPECT_THAT(profiles(filter), SizeIs(4));
    filter.only_dirty = true;
    EXPECT_THAT(profiles(filter), ElementsAre("profile 1"));
}

}  // namespace
}  // namespace lagtrap::server::delay_store_test
