#include "server/store/batch_store.hpp"

#include <functional>

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::batch_store_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BatchStoreTest : public DelaysStoreTest {
  protected:
    // The complaint about a run that began then, in a batch that arrived on monday.
    std::string complaint(std::uint64_t number, std::uint64_t begin_ns) {
        BatchMaker maker;
        maker.add(begin_ns, ms);
        const auto added = store_->batches().add_batch(receipt_of(number, monday), maker.batch);
        if (added.ok()) return "";
        EXPECT_EQ(added.error().kind, ErrorKind::Invalid);
        return added.error().message;
    }
    void receive(std::uint64_t number, const std::string& host, std::uint64_t at_ns) {
        ASSERT_EQ(
            must(store_->batches().add_batch(receipt_of(number, at_ns), BatchMaker(host).batch)),
            AddOutcome::New);
    }
};

TEST_F(BatchStoreTest, RunsMayBeFourHundredDaysOldAndADayAhead) {
    EXPECT_EQ(complaint(1, monday - 400 * day), "");
    EXPECT_EQ(complaint(2, monday + day), "");
    EXPECT_THAT(complaint(3, monday - 400 * day - 1),
                HasSubstr("a run from more than 400 days ago"));
    EXPECT_THAT(complaint(4, monday + day + 1), HasSubstr("a run from the future"));
    EXPECT_FALSE(must(store_->batches().has_batch(receipt_of(4).digest)));
    EXPECT_EQ(must(store_->upkeep().size()).runs, 2U);
}

TEST_F(BatchStoreTest, OneBadRunRefusesTheWholeBatch) {
    BatchMaker maker;
    maker.add(monday, ms);
    maker.add(monday + 99 * day, ms);
    EXPECT_FALSE(store_->batches().add_batch(receipt_of(1), maker.batch).ok());
    EXPECT_EQ(must(store_->upkeep().size()).runs, 0U);
}

TEST_F(BatchStoreTest, ARunSaysWhyItIsHidden) {
    struct Reason {
        std::uint32_t bits;
        const char* words;
    };
    const std::vector<Reason> reasons = {
        {trace::DirtySuspended, "the machine slept"},
        {trace::DirtyClockStepped, "the clock was set"},
        {trace::DirtyMissingStage, "a stage is missing"},
        {trace::DirtyAborted, "the thread ended before the run did"},
        {trace::DirtyFailed, "it failed"},
        {trace::DirtyCancelled, "it was cancelled"},
        {trace::DirtyClockStepped | trace::DirtyCancelled, "the clock was set, it was cancelled"},
        {1U << 20, "the machine says so"}};
    BatchMaker maker;
    for (std::size_t i = 0; i < reasons.size(); ++i)
        maker.add(monday + i, ms).dirty_reasons = reasons[i].bits;
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1, monday + hour), maker.batch)),
              AddOutcome::New);
    Filter all = event_filter();
    all.with_dirty = true;
    const auto runs = must(everything().runs().list(all, RunOrder::Newest, 99, {})).runs;
    ASSERT_THAT(runs, SizeIs(reasons.size()));
    for (std::size_t i = 0; i < reasons.size(); ++i) {
        const StoredRun& run = runs[reasons.size() - 1 - i];
        ASSERT_TRUE(run.dirty.has_value());
        EXPECT_EQ(run.dirty->reason, reasons[i].words);
        EXPECT_EQ(run.dirty->rule, rule_reported);
        EXPECT_EQ(run.dirty->by, "the machine");
        EXPECT_EQ(run.dirty->at_realtime_ns, monday + hour);
    }
}

TEST_F(BatchStoreTest, EachRunStandsForOneAtLeast) {
    BatchMaker maker;
    maker.add(monday, ms).weight = 0;
    maker.add(monday + 1, ms).weight = UINT32_MAX;
    maker.add(monday + 2, UINT64_MAX).weight = 5;
    add(1, maker.batch);
    const auto runs = must(everything().runs().list(event_filter(), RunOrder::Newest, 9, {})).runs;
    ASSERT_THAT(runs, SizeIs(3));
    EXPECT_EQ(runs[2].weight, 1U);
    EXPECT_EQ(runs[1].weight, static_cast<std::uint32_t>(INT32_MAX));
    EXPECT_EQ(runs[0].weight, 5U);
    EXPECT_EQ(runs[0].duration_ns, static_cast<std::uint64_t>(INT64_MAX));
}

TEST_F(BatchStoreTest, WhatABatchSaysOfItselfIsKept) {
    BatchMaker maker;
    maker.add(monday, ms);
    maker.add(monday + 1, ms);
    maker.batch.runs_sampled_away = 7;
    maker.batch.runs_lost = 8;
    Receipt receipt = receipt_of(1, monday + 3);
    receipt.bytes = 55;
    receipt.sender = "to\x1bken";
    ASSERT_EQ(must(store_->batches().add_batch(receipt, maker.batch)), AddOutcome::New);
    EXPECT_TRUE(
        holds("(SELECT count(*) FROM batch b JOIN label l ON l.id = b.host WHERE b.digest "
              "= '" +
              receipt.digest + "' AND b.received_ns = " + std::to_string(monday + 3) +
              " AND b.sender = 'to\\x1bken' AND b.bytes = 55 AND b.runs = 2 AND "
              "b.sampled_away = 7 AND b.lost = 8 AND l.text = 'alpha') = 1"));
}

TEST_F(BatchStoreTest, AnEmptyBatchCountsToo) {
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(1), BatchMaker().batch)),
              AddOutcome::New);
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(1), BatchMaker().batch)),
              AddOutcome::Already);
    EXPECT_TRUE(must(store_->batches().has_batch(receipt_of(1).digest)));
}

TEST_F(BatchStoreTest, ABatchThatIsThereAddsNothing) {
    BatchMaker maker, other;
    maker.add(monday, ms);
    add(1, maker.batch);
    other.add(monday + 1, ms).dirty_reasons = trace::DirtyFailed;
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(1), other.batch)), AddOutcome::Already);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).hidden, 0U);
    EXPECT_TRUE(holds("(SELECT count(*) FROM run_mark) = 0"));
}

TEST_F(BatchStoreTest, AHostShowsALifeSignForThirtyDays) {
    const std::uint64_t now_ns = monday + 100 * day;
    receive(1, "edge", now_ns - 30 * day);
    receive(2, "gone", now_ns - 30 * day - 1);
    receive(3, "alpha", now_ns - 5);
    receive(4, "alpha", now_ns - 9);
    receive(5, "", now_ns);
    for (const auto& [number, host, at_ns] :
         {std::tuple(1, "alpha", now_ns - 3), std::tuple(2, "edge of bundles", now_ns - 30 * day),
          std::tuple(3, "gone bundles", now_ns - 30 * day - 1), std::tuple(4, "", now_ns)}) {
        BundleRow row = bundle_row(static_cast<std::uint64_t>(number));
        row.received_realtime_ns = at_ns;
        row.facts.host = host;
        ASSERT_EQ(must(store_->inventory().add(row, {"parse", row.digest, 0})), AddOutcome::New);
    }
    std::vector<std::string> signs;
    for (const HostSign& sign : must(store_->batches().signs_of_hosts(now_ns)))
        signs.push_back(sign.host + " " + std::to_string(now_ns - sign.last_realtime_ns));
    const std::string edge = std::to_string(30 * day);
    EXPECT_THAT(signs, ElementsAre("alpha 3", "edge " + edge, "edge of bundles " + edge));
    EXPECT_THAT(must(store_->batches().signs_of_hosts(5)), SizeIs(5)) << "all, early in 1970";
}

TEST_F(BatchStoreTest, ADelayLinksWithTheNearestRunOfItsThread) {
    struct Case {
        const char* what;
        std::int64_t apart_ns;
        std::function<void(trace::RecordedRun&)> change;
        bool linked;
    };
    const std::vector<Case> cases = {
        {"same time", 0, [](auto&) {}, true},
        {"50 ms before", -50'000'000, [](auto&) {}, true},
        {"more before", -50'000'001, [](auto&) {}, false},
        {"just after", 49'999'999, [](auto&) {}, true},
        {"50 ms after", 50'000'000, [](auto&) {}, false},
        {"another process", 0, [](auto& run) { run.pid = 9; }, false},
        {"another thread", 0, [](auto& run) { run.begin_tid = 9; }, false},
        {"its end elsewhere", 0, [](auto& run) { run.end_tid = 9; }, true},
        {"another event", 0, [](auto& run) { run.event = "close"; }, false}};
    std::uint64_t number = 0;
    for (const Case& one : cases) {
        const std::uint64_t at_ns = monday + ++number * hour;
        BatchMaker maker;
        one.change(maker.add(
            static_cast<std::uint64_t>(static_cast<std::int64_t>(at_ns) + one.apart_ns), 100 * ms));
        add(number, maker.batch);
        add_bundle(number, {delay(1, at_ns)});
        EXPECT_EQ(must(everything().delays().of_bundle(digest_of(number))).at(0).run.has_value(),
                  one.linked)
            << one.what;
    }
    BatchMaker other("beta");
    other.add(monday + 50 * hour, 100 * ms);
    add(50, other.batch);
    add_bundle(50, {delay(1, monday + 50 * hour)});
    EXPECT_FALSE(must(everything().delays().of_bundle(digest_of(50))).at(0).run.has_value());
}

TEST_F(BatchStoreTest, OfSeveralRunsTheNearestIsTheDelays) {
    BatchMaker maker;
    for (const std::uint64_t after_ns : {30, 10, 20})
        maker.add(monday + hour + after_ns * ms, (100 + after_ns) * ms);
    add(1, maker.batch);
    add_bundle(1, {delay(1, monday + hour)});
    const auto run = must(everything().delays().of_bundle(digest_of(1))).at(0).run;
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(must(everything().runs().find_run(*run))->run.duration_ns, 110 * ms);
}

TEST_F(BatchStoreTest, DelaysThatCameFirstAreLinkedWhenTheirRunsArrive) {
    add_bundle(1,
               {delay(1, monday + hour), delay(2, monday + 2 * hour), normal_run(monday + hour)});
    BatchMaker maker;
    maker.add(monday + hour, 100 * ms);
    maker.add(monday + 2 * hour, 10 * ms);
    add(1, maker.batch);
    const auto delays = must(everything().delays().of_bundle(digest_of(1)));
    EXPECT_TRUE(delays.at(0).run.has_value());
    EXPECT_FALSE(delays.at(1).run.has_value()) << "only runs that are delays are looked for";
    EXPECT_TRUE(holds("(SELECT count(*) FROM delay WHERE delayed = 0 AND run IS NOT NULL) = 0"));
}

}  // namespace
}  // namespace lagtrap::server::batch_store_test
