#include "server/store/store_upkeep.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::store_upkeep_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StoreUpkeepTest : public CausesStoreTest {
  protected:
    static constexpr std::uint64_t now = monday + 500 * day;

    void maintain(std::uint64_t now_ns = now) {
        ASSERT_TRUE(store_->upkeep().maintain(now_ns).ok());
    }
    // Runs each half hour of two days, in two builds, with delays and hidden runs.
    void fill() {
        BatchMaker maker;
        for (std::uint64_t i = 0; i < 96; ++i) {
            trace::RecordedRun& run = maker.add(monday + i * hour / 2, (96 - i) * ms);
            run.build_id = i % 3 == 0 ? "ef56" : "cd34";
            run.weight = static_cast<std::uint32_t>(1 + i % 2);
            run.dirty_reasons = i % 7 == 0 ? static_cast<std::uint32_t>(trace::DirtyFailed) : 0U;
            run.start = i % 5 == 0 ? trace::StartKind::Cold : trace::StartKind::Warm;
        }
        add(1, maker.batch);
    }
};

TEST_F(StoreUpkeepTest, ADayThatLostHoursIsSummedUpFromTheRest) {
    fill();
    for (const std::uint64_t hours : {5, 24, 30}) {
        static_cast<void>(must(store_->upkeep().remove_runs_before(monday + hours * hour)));
        Filter rolled = event_filter(), scanned = event_filter();
        scanned.host = {"alpha"};
        for (const bool with_dirty : {true, false}) {
            rolled.with_dirty = scanned.with_dirty = with_dirty;
            const Summary a = must(summaries().summary(rolled)),
                          b = must(summaries().summary(scanned));
            EXPECT_GT(a.counts.records, 0U);
            EXPECT_EQ(a.counts.records, b.counts.records) << hours;
            EXPECT_EQ(a.counts.runs, b.counts.runs) << hours;
            EXPECT_EQ(a.counts.delays, b.counts.delays) << hours;
            EXPECT_EQ(a.counts.hidden, b.counts.hidden) << hours;
            EXPECT_EQ(a.longest_ns, b.longest_ns) << hours;
            EXPECT_EQ(a.durations, b.durations) << hours;
            EXPECT_EQ(a.delay_durations, b.delay_durations) << hours;
            for (const char* build : {"cd34", "ef56"}) {
                rolled.build = scanned.build = {build};
                rolled.start = scanned.start = trace::StartKind::Cold;
                EXPECT_EQ(must(summaries().count_runs(rolled)).records,
                          must(summaries().count_runs(scanned)).records)
                    << hours;
            }
            rolled.build = scanned.build = {};
            rolled.start = scanned.start = {};
        }
        EXPECT_EQ(must(everything().events().list({}, "", 9, {})).events.at(0).last_realtime_ns,
                  monday + 95 * hour / 2);
        EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
    }
}

TEST_F(StoreUpkeepTest, OnlyWholeHoursGo) {
    fill();
    EXPECT_EQ(must(store_->upkeep().remove_runs_before(monday)).before_realtime_ns, 0U);
    EXPECT_EQ(must(store_->upkeep().remove_runs_before(monday + hour - 1)).runs, 0U);
    const RemovedRuns one = must(store_->upkeep().remove_runs_before(monday + hour));
    EXPECT_EQ(one.runs, 2U);
    EXPECT_EQ(one.before_realtime_ns, monday + hour);
    const RemovedRuns again = must(store_->upkeep().remove_runs_before(monday + hour));
    EXPECT_EQ(again.runs, 0U);
    EXPECT_EQ(again.before_realtime_ns, 0U);
    EXPECT_EQ(must(store_->upkeep().remove_runs_before(UINT64_MAX)).runs, 94U);
}

TEST_F(StoreUpkeepTest, WhatBelongsToRemovedRunsGoesToo) {
    BatchMaker maker;
    maker.add(monday, 100 * ms).user = "early";
    maker.batch.runs[0].dirty_reasons = trace::DirtyFailed;
    trace::RecordedRun& late = maker.add(monday + 3 * day, 100 * ms);
    late.user = "late";
    late.dirty_reasons = trace::DirtyFailed;
    add(1, maker.batch);
    BatchMaker other;
    other.batch.stacks = {{{"old.so", "ab12", 1, "old", "", 0}}};
    other.add(monday + 1, ms);
    add(2, other.batch);
    add_bundle(1, {delay(1, monday), delay(2, monday + 3 * day)});
    static_cast<void>(must(store_->upkeep().remove_runs_before(monday + 2 * day)));
    EXPECT_TRUE(holds("(SELECT count(*) FROM run_mark) = 1"));
    EXPECT_TRUE(holds("(SELECT count(*) FROM stack) = 1"));
    const auto delays = must(everything().delays().of_bundle(digest_of(1)));
    ASSERT_THAT(delays, SizeIs(2));
    EXPECT_FALSE(delays[0].run.has_value());
    EXPECT_TRUE(delays[1].run.has_value());
    EXPECT_THAT(must(everything().choices().of_event("open")).users, ElementsAre("ann", "late"));
    Filter all = event_filter();
    all.with_dirty = true;
    const auto runs = must(everything().runs().list(all, RunOrder::Newest, 9, {})).runs;
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(must(everything().runs().find_run(runs[0].id))->markers.at(0).stack,
              maker.batch.stacks[0]);
}

TEST_F(StoreUpkeepTest, NamesOfDelaysAndCausesOutliveTheRuns) {
    BundleDelay made = delay(1, monday);
    made.event = "an event";
    made.process = "a process";
    made.thread = "a thread";
    made.user = "a user";
    made.build = "a build";
    made.unit = "a unit";
    add_bundle(1, {made}, "a host");
    const std::uint64_t id = [&] {
        SightedCause found = sighted(
            "a", {{digest_of(1), 1, "cause host", "cause build", monday, ms, "cause holder"}});
        return note({found}, monday, "cause event").at(0).id;
    }();
    BatchMaker old, recent("recent host");
    old.add(monday, ms).thread = "forgotten";
    recent.add(monday + 20 * day, ms, "recent event").build_id = "recent build";
    add(1, old.batch);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2, monday + 20 * day), recent.batch)),
              AddOutcome::New);
    BatchMaker losing("losing host");
    losing.batch.runs_lost = 3;
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(3, monday), losing.batch)),
              AddOutcome::New);
    static_cast<void>(must(store_->upkeep().remove_runs_before(monday + 10 * day)));
    reopen();
    const StoredDelay stored = must(everything().delays().of_bundle(digest_of(1))).at(0);
    EXPECT_THAT(
        (std::vector{stored.host, stored.delay.event, stored.delay.process, stored.delay.thread,
                     stored.delay.user, stored.delay.build, stored.delay.unit}),
        ElementsAre("a host", "an event", "a process", "a thread", "a user", "a build", "a unit"));
    const CauseLife life = life_of(id);
    EXPECT_EQ(life.cause.event, "cause event");
    EXPECT_EQ(life.hosts.at(0).name, "cause host");
    EXPECT_EQ(life.builds.at(0).name, "cause build");
    EXPECT_EQ(life.holders.at(0).name, "cause holder");
    EXPECT_EQ(must(everything().events().losses({})).hosts.at(0).host, "losing host");
    const auto run =
        must(everything().runs().list(event_filter("recent event"), RunOrder::Newest, 9, {}))
            .runs.at(0);
    EXPECT_EQ(run.host, "recent host");
    EXPECT_EQ(run.build, "recent build");
    EXPECT_TRUE(holds("NOT EXISTS (SELECT 1 FROM label WHERE text = 'forgotten')"));
}

TEST_F(StoreUpkeepTest, ASessionEndsWhenItExpires) {
    ASSERT_EQ(must(store_->accounts().add_account({"ann", Role::Reader, "", 1, false})),
              AddOutcome::New);
    ASSERT_TRUE(store_->accounts().add_session({"over", "ann", 1, 1, now, ""}).ok());
    ASSERT_TRUE(store_->accounts().add_session({"valid", "ann", 1, 1, now + 1, ""}).ok());
    maintain();
    EXPECT_FALSE(must(store_->accounts().find_session("over")).has_value());
    EXPECT_TRUE(must(store_->accounts().find_session("valid")).has_value());
}

TEST_F(StoreUpkeepTest, DigestsOfBatchesAndLossesAreKeptThirtyDays) {
    for (const std::uint64_t number : {1, 2}) {
        BatchMaker maker;
        maker.batch.runs_lost = number;
        ASSERT_EQ(must(store_->batches().add_batch(
                      receipt_of(number, now - 30 * day - (number == 1 ? 1 : 0)), maker.batch)),
                  AddOutcome::New);
    }
    EXPECT_EQ(must(store_->upkeep().size()).lost, 3U);
    maintain();
    EXPECT_FALSE(must(store_->batches().has_batch(receipt_of(1).digest)));
    EXPECT_TRUE(must(store_->batches().has_batch(receipt_of(2).digest)));
    EXPECT_EQ(must(store_->upkeep().size()).lost, 2U);
}

TEST_F(StoreUpkeepTest, TheAuditIsKeptFourHundredDaysToTheInstant) {
    for (const std::uint64_t at_ns : {now - 400 * day - 1, now - 400 * day})
        ASSERT_TRUE(store_->audit().add_audit({0, at_ns, "ann", "add token", "", ""}).ok());
    maintain();
    const auto left = must(store_->audit().list(9, {}, AuditPart::All));
    ASSERT_THAT(left, SizeIs(1));
    EXPECT_EQ(left[0].at_realtime_ns, now - 400 * day);
    maintain(5);
    EXPECT_THAT(must(store_->audit().list(9, {}, AuditPart::All)), SizeIs(1))
        << "a clock before the span removes nothing";
}

TEST_F(StoreUpkeepTest, DelaysOfCausesAreKeptFourHundredDays) {
    const std::uint64_t id =
        new_cause("a", add_delays(1, now - 400 * day - 2 * second, {.delays = 4}));
    maintain();
    EXPECT_EQ(life_of(id).delays, 2U);
}

TEST_F(StoreUpkeepTest, SettledMessagesAndEndedFindingsAreKeptThirtyDays) {
    ASSERT_TRUE(
        backend_
            ->script(
                "INSERT INTO tell_message(id, rule, test, body, made_ns, state, attempts, next_ns, "
                "settled_ns, lease_until_ns, lease, reason) VALUES('old',1,0,'',1,2,1,0," +
                std::to_string(now - 30 * day - 1) + ",0,'',''),('given up',1,0,'',1,3,1,0," +
                std::to_string(now - 30 * day - 1) + ",0,'',''),('recent',1,0,'',1,2,1,0," +
                std::to_string(now - 30 * day) +
                ",0,'',''),('waiting',1,0,'',1,0,1,0,0,0,'',''),('sending',1,0,'',1,1,1,0,0,0,'',''"
                ")"
                "; INSERT INTO tell_finding(rule, subject, facts, found_ns, ended_ns, seen_ns, "
                "told_ns, end_told_ns) VALUES(1,'old','',1," +
                std::to_string(now - 30 * day - 1) + ",1,1,1),(1,'recent','',1," +
                std::to_string(now - 30 * day) + ",1,1,1),(1,'ongoing','',1,0,1,1,1)")
            .ok());
    maintain();
    std::vector<std::string> messages, findings;
    for (const StoredMessage& message : must(store_->messages().of_rule(1)))
        messages.push_back(message.id);
    for (const KeptFinding& kept : must(store_->rules().findings(1)))
        findings.push_back(kept.finding.subject);
    EXPECT_THAT(messages, ElementsAre("recent", "sending", "waiting"));
    EXPECT_THAT(findings, ElementsAre("ongoing", "recent"));
}

TEST_F(StoreUpkeepTest, JobsThatFailedAreKeptThirtyDays) {
    for (const std::uint64_t failed_ns : {now - 30 * day - 1, now - 30 * day}) {
        const std::string what = std::to_string(failed_ns);
        ASSERT_EQ(must(store_->jobs().put_job({"parse", what, 0})), AddOutcome::New);
        for (int attempt = 0; attempt < 3; ++attempt) {
            const auto job =
                must(store_->jobs().take_job({}, failed_ns, std::chrono::nanoseconds(1)));
            ASSERT_TRUE(must(store_->jobs().fail_job(job.value(), "", failed_ns, failed_ns)));
        }
    }
    ASSERT_EQ(must(store_->jobs().put_job({"parse", "waiting", 0})), AddOutcome::New);
    maintain();
    EXPECT_EQ(must(store_->jobs().job_counts()).failed, 1U);
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 1U);
}

TEST_F(StoreUpkeepTest, ObjectsOfAWatchAreKeptSevenDays) {
    for (const std::uint64_t number : {1, 2}) {
        trace::RunBatch batch;
        batch.host = "alpha";
        trace::ObjectsPart& part = batch.objects.emplace();
        part.watch_id = std::to_string(number);
        part.number = 1;
        part.lines = "{}\n";
        ASSERT_EQ(must(store_->batches().add_batch(
                      receipt_of(number, now - 7 * day - (number == 1 ? 1 : 0)), batch)),
                  AddOutcome::New);
    }
    maintain();
    EXPECT_FALSE(must(store_->objects().object_watch("1")).has_value());
    EXPECT_THAT(must(store_->objects().objects_parts("1", 0, 9)), IsEmpty());
    EXPECT_TRUE(must(store_->objects().object_watch("2")).has_value());
}

TEST_F(StoreUpkeepTest, DelaysOfTwoDaysAreLinkedWithTheirRunsLate) {
    const std::uint64_t now_ns = monday + 10 * day;
    const std::vector<std::uint64_t> begins = {now_ns - 3 * day, now_ns - 2 * day, now_ns - second};
    BatchMaker maker;
    std::vector<BundleDelay> delays;
    for (const std::uint64_t begin_ns : begins) {
        maker.add(begin_ns, 100 * ms);
        delays.push_back(delay(static_cast<std::uint32_t>(delays.size() + 1), begin_ns));
    }
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1, now_ns), maker.batch)),
              AddOutcome::New);
    add_bundle(1, delays);
    ASSERT_TRUE(backend_->script("UPDATE delay SET run = NULL").ok());
    maintain(now_ns);
    std::vector<bool> linked;
    for (const StoredDelay& stored : must(everything().delays().of_bundle(digest_of(1))))
        linked.push_back(stored.run.has_value());
    EXPECT_THAT(linked, ElementsAre(false, true, true));
}

TEST_F(StoreUpkeepTest, TheSizeCountsRecordsAndLosses) {
    StoreSize size = must(store_->upkeep().size());
    EXPECT_EQ(size.runs, 0U);
    EXPECT_EQ(size.lost, 0U);
    BatchMaker maker;
    maker.add(monday, ms).weight = 7;
    maker.add(monday + 5 * day, ms).dirty_reasons = trace::DirtyFailed;
    maker.batch.runs_lost = 4;
    add(1, maker.batch);
    size = must(store_->upkeep().size());
    EXPECT_EQ(size.runs, 2U);
    EXPECT_EQ(size.lost, 4U);
    EXPECT_GT(size.bytes, 0U);
}

TEST_F(StoreUpkeepTest, RunsThatFitAreNotRemoved) {
    EXPECT_EQ(must(store_->upkeep().shrink_runs(0)).runs, 0U) << "without runs";
    fill();
    const std::uint64_t bytes = must(store_->upkeep().size()).bytes;
    EXPECT_EQ(must(store_->upkeep().shrink_runs(bytes)).before_realtime_ns, 0U);
    const RemovedRuns all = must(store_->upkeep().shrink_runs(0));
    EXPECT_EQ(all.runs, 94U);
    EXPECT_EQ(all.before_realtime_ns, monday + 47 * hour);
}

TEST_F(StoreUpkeepTest, ACheckSaysHowFarARollUpIsOff) {
    fill();
    const std::string hour_of_run = std::to_string(monday / hour + 3);
    ASSERT_TRUE(
        backend_
            ->script("UPDATE rollup SET records = records + 2 WHERE level = 0 AND bucket = " +
                     hour_of_run +
                     " AND records = (SELECT max(records) FROM rollup WHERE level = "
                     "0 AND bucket = " +
                     hour_of_run +
                     ") AND build = (SELECT min(build) FROM "
                     "rollup WHERE level = 0 AND bucket = " +
                     hour_of_run + ")")
            .ok());
    const auto complaints = must(store_->upkeep().check());
    ASSERT_THAT(complaints, SizeIs(1));
    EXPECT_EQ(complaints[0], "the roll-up of event open in hour " + hour_of_run +
                                 " counts 2 runs more than there are");
    ASSERT_TRUE(backend_->script("DELETE FROM rollup WHERE level = 0").ok());
    EXPECT_THAT(must(store_->upkeep().check()), SizeIs(20)) << "no more are listed";
}

}  // namespace
}  // namespace lagtrap::server::store_upkeep_test
