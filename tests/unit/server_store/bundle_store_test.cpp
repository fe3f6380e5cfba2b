#include "server/store/bundle_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::bundle_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class BundleStoreTest : public DelaysStoreTest {
  protected:
    static std::vector<std::int64_t> numbers(const std::vector<BundleRow>& rows) {
        std::vector<std::int64_t> found;
        for (const BundleRow& row : rows) found.push_back(std::stoll(row.digest));
        return found;
    }
    std::vector<std::int64_t> found(const Filter& filter) {
        return numbers(must(everything().bundles().list_filtered(filter, 100, {})).bundles);
    }
};

TEST_F(BundleStoreTest, ABundleComesBackAsItWas) {
    BundleRow row = bundle_row(1);
    row.bytes = 77;
    row.received_realtime_ns = monday + 8;
    row.sender = "to\x1bken";
    row.bad_reason = "to\x1brn";
    row.facts = {"se\x1bssion", "ho\x1bst", "e\x1bvent", "p\x1brocess", UINT64_MAX, UINT64_MAX, 3};
    ASSERT_EQ(must(store_->inventory().add(row, {"parse", row.digest, 0})), AddOutcome::New);
    for (const BundleRow& found :
         {must(everything().bundles().find(row.digest)).value(),
          must(everything().bundles().list(9, {})).at(0), must(store_->inventory().oldest(9)).at(0),
          must(everything().bundles().list_filtered({}, 9, {})).bundles.at(0)}) {
        EXPECT_GT(found.number, 0);
        EXPECT_EQ(found.digest, row.digest);
        EXPECT_EQ(found.bytes, 77U);
        EXPECT_EQ(found.received_realtime_ns, monday + 8);
        EXPECT_EQ(found.sender, "to\\x1bken");
        EXPECT_EQ(found.bad_reason, "to\\x1brn");
        EXPECT_EQ(found.facts.session_id, "se\\x1bssion");
        EXPECT_EQ(found.facts.host, "ho\\x1bst");
        EXPECT_EQ(found.facts.event, "e\\x1bvent");
        EXPECT_EQ(found.facts.process, "p\\x1brocess");
        EXPECT_EQ(found.facts.started_realtime_ns, static_cast<std::uint64_t>(INT64_MAX));
        EXPECT_EQ(found.facts.longest_delay_ns, static_cast<std::uint64_t>(INT64_MAX));
        EXPECT_EQ(found.facts.delays, 3U);
        EXPECT_FALSE(found.parsed);
    }
    EXPECT_FALSE(must(everything().bundles().find(digest_of(2))).has_value());
    // Its contents replace what was said on arrival.
    ASSERT_TRUE(must(store_->inventory().set_contents(row.digest, {"s", "h", "e", "p", 1, 2, 4},
                                                      "to\x1brn again", {})));
    const BundleRow parsed = must(everything().bundles().find(row.digest)).value();
    EXPECT_TRUE(parsed.parsed);
    EXPECT_EQ(parsed.facts.session_id, "s");
    EXPECT_EQ(parsed.facts.host, "h");
    EXPECT_EQ(parsed.facts.event, "e");
    EXPECT_EQ(parsed.facts.process, "p");
    EXPECT_EQ(parsed.facts.started_realtime_ns, 1U);
    EXPECT_EQ(parsed.facts.longest_delay_ns, 2U);
    EXPECT_EQ(parsed.facts.delays, 4U);
    EXPECT_EQ(parsed.bad_reason, "to\\x1brn again");
    EXPECT_EQ(parsed.bytes, 77U);
}

TEST_F(BundleStoreTest, ListsAreNewestFirstAndOldestFirst) {
    for (std::uint64_t number = 1; number <= 4; ++number) add_bundle(number, {});
    const auto newest = must(everything().bundles().list(3, {}));
    EXPECT_THAT(numbers(newest), ElementsAre(4, 3, 2));
    EXPECT_THAT(numbers(must(everything().bundles().list(9, newest[1].number))), ElementsAre(2, 1));
    EXPECT_THAT(numbers(must(store_->inventory().oldest(3))), ElementsAre(1, 2, 3));
    EXPECT_THAT(
        must(store_->inventory().digests()),
        testing::UnorderedElementsAre(digest_of(1), digest_of(2), digest_of(3), digest_of(4)));
}

TEST_F(BundleStoreTest, EachPartOfAFilterSelectsByADelay) {
    std::uint64_t number = 0;
    const auto add_one = [&](auto change) {
        BundleDelay made = delay(1, monday + ++number * hour);
        change(made);
        add_bundle(number, {made}, number == 8 ? "beta" : "alpha");
    };
    add_one([](auto&) {});
    add_one([](auto& d) { d.user = "bob"; });
    add_one([](auto& d) { d.build = "ef56"; });
    add_one([](auto& d) { d.process = "other"; });
    add_one([](auto& d) { d.unit = "web.service"; });
    add_one([](auto& d) { d.start = trace::StartKind::Cold; });
    add_one([](auto& d) { d.event = "close"; });
    add_one([](auto&) {});
    // A normal run is no delay.
    BundleDelay normal = normal_run(monday + 20 * hour);
    normal.user = "bob";
    normal.event = "close";
    add_bundle(9, {normal});
    const auto only = [&](auto change) {
        Filter filter;
        change(filter);
        return found(filter);
    };
    EXPECT_THAT(only([](Filter& f) { f.user = {"bob"}; }), ElementsAre(2));
    EXPECT_THAT(only([](Filter& f) { f.build = {"ef56"}; }), ElementsAre(3));
    EXPECT_THAT(only([](Filter& f) { f.process = {"other"}; }), ElementsAre(4));
    EXPECT_THAT(only([](Filter& f) { f.unit = {"web.service"}; }), ElementsAre(5));
    EXPECT_THAT(only([](Filter& f) { f.start = trace::StartKind::Cold; }), ElementsAre(6));
    EXPECT_THAT(only([](Filter& f) { f.event = "close"; }), ElementsAre(7));
    EXPECT_THAT(only([](Filter& f) { f.host = {"beta"}; }), ElementsAre(8));
    EXPECT_THAT(only([](Filter& f) { f.host = {"bet*"}; }), ElementsAre(8));
    EXPECT_THAT(only([](Filter& f) { f.event = "nothing"; }), IsEmpty());
    EXPECT_THAT(only([](Filter& f) {
                    f.event = "open";
                    f.from_ns = monday + 2 * hour;
                    f.to_ns = monday + 4 * hour;
                }),
                ElementsAre(3, 2));
}

TEST_F(BundleStoreTest, ByTimeAndHostBadBundlesAreFoundToo) {
    for (std::uint64_t number = 1; number <= 4; ++number)
        add_bundle(number, {}, number == 4 ? "beta" : "alpha");
    Filter filter;
    filter.from_ns = monday + 2 * hour;
    EXPECT_THAT(found(filter), ElementsAre(4, 3, 2));
    filter.to_ns = monday + 4 * hour;
    EXPECT_THAT(found(filter), ElementsAre(3, 2));
    filter = {};
    filter.host = {"beta", "gamma"};
    EXPECT_THAT(found(filter), ElementsAre(4));
    filter.from_ns = UINT64_MAX;
    EXPECT_THAT(found(filter), IsEmpty());
}

TEST_F(BundleStoreTest, APageHasAtLeastOneAndAtMostAThousand) {
    ASSERT_TRUE(
        backend_
            ->script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                     "1002) INSERT INTO bundle(digest, bytes, received_ns, sender, session_id, "
                     "host, event, process, started_ns, longest_delay_ns, delays, bad_reason, "
                     "parsed) SELECT '' || i, 1, 1, '', '', '', '', '', 1, 1, 1, '', 1 FROM n")
            .ok());
    const BundleStore bundles = everything().bundles();
    EXPECT_THAT(must(bundles.list_filtered({}, 0, {})).bundles, SizeIs(1));
    const BundlePage full = must(bundles.list_filtered({}, 5000, {}));
    EXPECT_THAT(full.bundles, SizeIs(1000));
    const BundlePage last = must(bundles.list_filtered({}, 2, full.next));
    EXPECT_THAT(numbers(last.bundles), ElementsAre(2, 1));
    EXPECT_FALSE(last.next.has_value());
}

TEST_F(BundleStoreTest, WaitingAreThoseThatAreNotReadYet) {
    for (std::uint64_t number = 1; number <= 3; ++number) {
        const BundleRow row = bundle_row(number);
        ASSERT_EQ(must(store_->inventory().add(row, {"parse", row.digest, 0})), AddOutcome::New);
    }
    ASSERT_EQ(must(store_->jobs().put_job({"dirty", "open", 0})), AddOutcome::New);
    const auto take = [&] {
        return must(store_->jobs().take_job({"parse"}, 1, std::chrono::hours(1))).value();
    };
    const Job running = take();
    EXPECT_EQ(must(everything().bundles().waiting()), 3U);
    ASSERT_TRUE(must(store_->jobs().finish_job(running)));
    EXPECT_EQ(must(everything().bundles().waiting()), 2U);
    for (int attempt = 0; attempt < 3; ++attempt)
        ASSERT_TRUE(must(store_->jobs().fail_job(take(), "", 1, attempt < 2 ? 0 : day)));
    EXPECT_EQ(must(seen({"*"}, {"*"}).bundles().waiting()), 0U);
}

TEST_F(BundleStoreTest, OfAPartlyVisibleBundleTheLongestVisibleDelayIsShown) {
    BundleDelay shorter = delay(1, monday, 70 * ms), longest = delay(2, monday, 90 * ms),
                equal = delay(3, monday, 90 * ms), hidden = delay(4, monday, 500 * ms);
    shorter.unit = longest.unit = equal.unit = "web.service";
    longest.event = "slow";
    longest.process = "slow process";
    equal.event = "equal";
    add_bundle(1, {shorter, longest, equal, hidden});
    add_bundle(2, {hidden});
    const Evidence web = seen({}, {"web.*"});
    const auto rows = must(web.bundles().list(9, {}));
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].facts.delays, 3U);
    EXPECT_EQ(rows[0].facts.longest_delay_ns, 90 * ms);
    EXPECT_EQ(rows[0].facts.event, "slow");
    EXPECT_EQ(rows[0].facts.process, "slow process");
    EXPECT_THAT(numbers(must(seen({"open"}, {}).bundles().list(9, {}))), ElementsAre(2, 1));
}

}  // namespace
}  // namespace lagtrap::server::bundle_store_test
