#include <algorithm>

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::bundles_contract_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

BundleRow bundle(std::uint64_t number) {
    BundleRow row;
    row.digest = receipt_of(number).digest;
    row.bytes = 100 * number;
    row.received_realtime_ns = monday + number;
    row.sender = "token";
    return row;
}

NewJob work(std::uint64_t number) { return {"parse", bundle(number).digest, monday}; }

BundleDelay delay(std::uint32_t number, std::uint64_t begin_ns, const std::string& profile) {
    BundleDelay found;
    found.number = number;
    found.event = "open";
    found.begin_realtime_ns = begin_ns;
    found.duration_ns = 100 * ms;
    found.threshold_ns = 50 * ms;
    found.pid = 100;
    found.tid = 101;
    found.process = "demo";
    found.thread = "worker";
    found.profile = profile;
    found.details = "{\"a\":1}";
    return found;
}

class BundlesContract : public StoreTest {
  protected:
    void add(std::uint64_t number, const std::vector<BundleDelay>& delays,
             const std::string& host = "alpha") {
        ASSERT_EQ(must(store_->inventory().add(bundle(number), work(number))), AddOutcome::New);
        BundleFacts facts;
        facts.session_id = "session";
        facts.host = host;
        facts.event = "open";
        facts.started_realtime_ns = monday + number * hour;
        facts.delays = static_cast<std::uint32_t>(delays.size());
        ASSERT_TRUE(
            must(store_->inventory().set_contents(bundle(number).digest, facts, "", delays)));
    }
    std::vector<std::string> profiles(const Filter& filter, bool delayed = true,
                                      std::uint32_t limit = 1000) {
        std::vector<std::string> found;
        const auto status =
            everything().delays().profiles(filter, delayed, limit, [&](StoredDelay&& one) {
                found.push_back(one.delay.profile);
                return true;
            });
        EXPECT_TRUE(status.ok());
        return found;
    }
};

TEST_F(BundlesContract, ABundleComesWithItsWorkOnce) {
    ASSERT_EQ(must(store_->inventory().add(bundle(1), work(1))), AddOutcome::New);
    const auto job = must(store_->jobs().take_job({"parse"}, monday, std::chrono::minutes(1)));
    ASSERT_TRUE(job.has_value());
    EXPECT_EQ(job->payload, bundle(1).digest);
    ASSERT_EQ(must(store_->inventory().add(bundle(1), work(1))), AddOutcome::Already);
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 0U);
}

TEST_F(BundlesContract, ABundleIsThereOnceWithItsDelays) {
    add(1, {delay(1, monday, std::string("a\0b", 3)), delay(2, monday + hour, "")});
    EXPECT_EQ(must(store_->inventory().add(bundle(1), work(1))), AddOutcome::Already);
    reopen();
    const auto row = must(everything().bundles().find(bundle(1).digest));
    ASSERT_TRUE(row.has_value());
    EXPECT_TRUE(row->parsed);
    EXPECT_EQ(row->facts.host, "alpha");
    EXPECT_EQ(row->bytes, 100U);
    EXPECT_EQ(row->sender, "token");
    const auto delays = must(everything().delays().of_bundle(bundle(1).digest));
    ASSERT_THAT(delays, SizeIs(2));
    EXPECT_EQ(delays[0].delay.profile, std::string("a\0b", 3));
    EXPECT_EQ(delays[0].delay.details, "{\"a\":1}");
    EXPECT_EQ(delays[0].host, "alpha");
    EXPECT_EQ(delays[1].delay.number, 2U);
    EXPECT_EQ(delays[1].delay.begin_realtime_ns, monday + hour);
    // Parsing again replaces the earlier result.
    ASSERT_TRUE(must(store_->inventory().set_contents(bundle(1).digest, row->facts, "torn", {})));
    EXPECT_THAT(must(everything().delays().of_bundle(bundle(1).digest)), IsEmpty());
    EXPECT_EQ(must(store_->inventory().totals()).bad, 1U);
    EXPECT_FALSE(must(store_->inventory().set_contents(bundle(9).digest, {}, "", {})));
}

TEST_F(BundlesContract, DelaysAloneAreEnoughForFilters) {
    BundleDelay one = delay(1, monday, "p"), other = delay(2, monday + hour, "p");
    one.build = "ab12";
    one.user = "ann";
    other.build = "cd34";
    other.unit = "web.service";
    BundleDelay normal = delay(0, monday, "p");
    normal.delayed = false;
    normal.build = "ef56";
    add(1, {one, other, normal});
    const Choices choices = must(everything().choices().of_event("open"));
    EXPECT_THAT(choices.builds, ElementsAre("ab12", "cd34"));
    EXPECT_THAT(choices.users, ElementsAre("ann"));
    EXPECT_THAT(choices.units, ElementsAre("web.service"));
    EXPECT_THAT(choices.processes, ElementsAre("demo"));
    EXPECT_EQ(choices.from_realtime_ns, monday);
    EXPECT_EQ(choices.to_realtime_ns, monday + hour + 1);
}

TEST_F(BundlesContract, ListsPagesAndRemoves) {
    for (std::uint64_t number = 1; number <= 5; ++number)
        add(number, {delay(1, monday + number * hour, "p")});
    const auto newest = must(everything().bundles().list(2, {}));
    ASSERT_THAT(newest, SizeIs(2));
    EXPECT_EQ(newest[0].digest, bundle(5).digest);
    EXPECT_EQ(must(everything().bundles().list(10, newest[1].number)).size(), 3U);
    EXPECT_EQ(must(store_->inventory().oldest(1)).at(0).digest, bundle(1).digest);
    ASSERT_TRUE(store_->inventory().remove(bundle(1).digest).ok());
    ASSERT_TRUE(store_->inventory().remove(bundle(1).digest).ok());
    EXPECT_THAT(must(everything().delays().of_bundle(bundle(1).digest)), IsEmpty());
    EXPECT_THAT(must(store_->inventory().digests()), SizeIs(4));
    EXPECT_EQ(must(store_->inventory().totals()).bytes, 1400U);
}

TEST_F(BundlesContract, AFilterSelectsBundlesByTheirDelays) {
    auto other = delay(1, monday + 9 * hour, "p");
    other.event = "close";
    add(1, {delay(1, monday + hour, "p")});
    add(2, {other}, "beta");
    add(3, {delay(1, monday + 3 * hour, "p")});
    const auto digests_of = [&](const Filter& filter, std::optional<PageKey> after = {}) {
        std::vector<std::string> found;
        for (const BundleRow& row :
             must(everything().bundles().list_filtered(filter, 10, after)).bundles)
            found.push_back(row.digest);
        return found;
    };
    EXPECT_THAT(digests_of({}), SizeIs(3));
    Filter open = event_filter();
    EXPECT_THAT(digests_of(open), ElementsAre(bundle(3).digest, bundle(1).digest));
    open.from_ns = monday + 2 * hour;
    open.process = {"demo"};
    EXPECT_THAT(digests_of(open), ElementsAre(bundle(3).digest));
    Filter host;
    host.host = {"beta"};
    EXPECT_THAT(digests_of(host), ElementsAre(bundle(2).digest));
    const auto page = must(everything().bundles().list_filtered(event_filter(), 1, {}));
    ASSERT_TRUE(page.next.has_value());
    EXPECT_THAT(digests_of(event_filter(), page.next), ElementsAre(bundle(1).digest));
}

TEST_F(BundlesContract, LinksDelaysAndRunsInEitherOrder) {
    BatchMaker early, late;
    early.add(monday + hour, 100 * ms);
    early.add(monday + hour + 2 * ms, 100 * ms).begin_tid = 999;
    late.add(monday + 5 * hour + ms, 100 * ms);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), early.batch)), AddOutcome::New);
    add(1, {delay(1, monday + hour + 3 * ms, "p"), delay(2, monday + 5 * hour, "q"),
            delay(3, monday + 9 * hour, "r")});
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2), late.batch)), AddOutcome::New);
    const auto delays = must(everything().delays().of_bundle(bundle(1).digest));
    ASSERT_THAT(delays, SizeIs(3));
    ASSERT_TRUE(delays[0].run.has_value());
    ASSERT_TRUE(delays[1].run.has_value());
    EXPECT_FALSE(delays[2].run.has_value());
    const auto run = must(everything().runs().find_run(*delays[0].run));
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->run.begin_tid, 101U);
    EXPECT_EQ(run->run.bundle, bundle(1).digest);
    EXPECT_EQ(run->run.bundle_delay, 1U);
    EXPECT_EQ(must(everything().runs().find_runs({*delays[1].run, 77, *delays[0].run})).size(), 2U);
    const auto event = must(everything().events().list({}, "", 10, {})).events.at(0);
    EXPECT_EQ(event.delays, 3U);  // those of runs; a delay without one does not count
    EXPECT_EQ(event.bundles, 1U);
    EXPECT_EQ(event.last_realtime_ns, monday + 9 * hour);
    // Hidden runs do not count for causes.
    EXPECT_THAT(profiles(event_filter()), ElementsAre("r", "q", "p"));
    ASSERT_EQ(must(everything().marks().mark_dirty({{*delays[0].run, true, "mad", "", "", 1}})),
              1U);
    EXPECT_THAT(profiles(event_filter()), ElementsAre("r", "q"));
}

TEST_F(BundlesContract, DelaysOfAllBundlesAreListedAndSummedUpWithoutRuns) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t i = 0; i < 5; ++i) {
        delays.push_back(delay(i + 1, monday + i * hour, "profile"));
        delays.back().duration_ns = (i == 2 ? 900 : 100 + i) * ms;
        delays.back().threshold_ns = 50 * ms;
        delays.back().build = i < 2 ? "old" : "new";
    }
    delays.push_back(delay(0, monday, "p"));
    delays.back().delayed = false;
    add(1, delays);
    auto other = delay(1, monday + 9 * hour, "p");
    other.event = "close";
    add(2, {other}, "beta");
    const auto numbers = [](const DelayPage& page) {
        std::vector<std::uint32_t> found;
        for (const StoredDelay& stored : page.delays) found.push_back(stored.delay.number);
        return found;
    };
    auto page =
        must(everything().delays().list_delays(event_filter(), "", RunOrder::Newest, 3, {}));
    EXPECT_THAT(numbers(page), ElementsAre(5, 4, 3));
    EXPECT_EQ(page.delays[0].bundle, bundle(1).digest);
    EXPECT_EQ(page.delays[0].host, "alpha");
    EXPECT_TRUE(page.delays[0].delay.profile.empty());
    ASSERT_TRUE(page.next);
    page =
        must(everything().delays().list_delays(event_filter(), "", RunOrder::Newest, 3, page.next));
    EXPECT_THAT(numbers(page), ElementsAre(2, 1));
    EXPECT_FALSE(page.next);
    EXPECT_THAT(numbers(must(everything().delays().list_delays(event_filter(), "",
                                                               RunOrder::Slowest, 2, {}))),
                ElementsAre(3, 5));
    // Oldest first: the same in the other direction, in pages too.
    std::vector<std::uint32_t> fallen, risen;
    for (const auto& [order, into] :
         {std::pair(RunOrder::Newest, &fallen), std::pair(RunOrder::Oldest, &risen)}) {
        std::optional<PageKey> after;
        do {
            const DelayPage part =
                must(everything().delays().list_delays(event_filter(), "", order, 2, after));
            for (const StoredDelay& delay : part.delays) into->push_back(delay.delay.number);
            after = part.next;
        } while (after);
    }
    std::reverse(risen.begin(), risen.end());
    EXPECT_EQ(risen, fallen);
    EXPECT_THAT(must(everything().delays().list_delays({}, "", RunOrder::Newest, 10, {})).delays,
                SizeIs(6));
    EXPECT_THAT(
        must(everything().delays().list_delays({}, bundle(2).digest, RunOrder::Newest, 10, {}))
            .delays,
        SizeIs(1));
    const auto one = must(everything().delays().find_delay(bundle(1).digest, 3));
    ASSERT_TRUE(one);
    EXPECT_EQ(one->delay.duration_ns, 900 * ms);
    EXPECT_EQ(one->delay.profile, "profile");
    EXPECT_FALSE(must(everything().delays().find_delay(bundle(1).digest, 6)));

    const auto summary = must(everything().delays().summarise_delays(event_filter()));
    EXPECT_EQ(summary.delays, 5U);
    EXPECT_EQ(summary.delays_read, 5U);
    EXPECT_EQ(summary.threshold_ns, 50 * ms);
    EXPECT_EQ(summary.summary.longest_ns, 900 * ms);
    EXPECT_EQ(summary.summary.durations.count(), 5U);
    EXPECT_THAT(summary.summary.hours, SizeIs(5));
    ASSERT_THAT(summary.builds, SizeIs(2));
    EXPECT_EQ(summary.builds[0].name, "new");
    EXPECT_EQ(summary.builds[0].delays, 3U);
    EXPECT_EQ(summary.builds[0].longest_ns, 900 * ms);
    ASSERT_THAT(summary.hosts, SizeIs(1));
    Filter host = event_filter();
    host.host = {"beta"};
    EXPECT_EQ(must(everything().delays().summarise_delays(host)).delays, 0U);
}

TEST_F(BundlesContract, ProfilesComeInPagesNewestFirst) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t i = 0; i < 450; ++i) {
        delays.push_back(delay(i + 1, monday + i / 3, std::to_string(i)));
        delays.back().delayed = i % 3 != 0;
    }
    add(1, delays);
    EXPECT_THAT(profiles(event_filter()), SizeIs(300));
    EXPECT_THAT(profiles(event_filter(), false), SizeIs(150));
    EXPECT_THAT(profiles(event_filter(), true, 250), SizeIs(250));
    EXPECT_EQ(profiles(event_filter()).front(), "449");
    EXPECT_THAT(must(everything().delays().of_bundle(bundle(1).digest)), SizeIs(300));
}

}  // namespace
}  // namespace lagtrap::server::bundles_contract_test
