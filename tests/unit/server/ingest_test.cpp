#include "server/ingest/ingest.hpp"

#include <fcntl.h>

#include <cerrno>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/duration.hpp"
#include "core/files.hpp"
#include "server/ingest/jobs.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server::ingest_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t day_ns = 86'400ULL * 1'000'000'000ULL;

class IngestTest : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        open({});
    }
    void open(const IngestLimits& limits) {
        ingest_ = std::make_unique<Ingest>(*blobs_, *store_, limits, [this] { ++jobs_; });
    }
    std::variant<Stored, Refusal> put(const std::string& content, const std::string& digest,
                                      std::uint64_t now_ns = 1) {
        auto blob = ingest_->begin();
        EXPECT_TRUE(blob.ok());
        EXPECT_TRUE(blob->write(content.data(), content.size()).ok());
        return ingest_->finish_bundle(std::move(blob).value(), digest, {"tester", "db1"}, now_ns);
    }
    Stored put_good(const std::string& content, std::uint64_t now_ns = 1) {
        const auto outcome = put(content, sha256_of(content), now_ns);
        EXPECT_TRUE(std::holds_alternative<Stored>(outcome)) << content;
        return std::holds_alternative<Stored>(outcome) ? std::get<Stored>(outcome) : Stored{};
    }
    bool has_blob(const std::string& content) {
        return blobs_->size_bytes(sha256_of(content))->has_value();
    }
    std::size_t blob_count() {
        std::size_t count = 0;
        EXPECT_TRUE(blobs_
                        ->each([&](const std::string&) {
                            ++count;
                            return true;
                        })
                        .ok());
        return count;
    }

    std::unique_ptr<Ingest> ingest_;
    int jobs_ = 0;
};

trace::RunBatch batch_of(const std::string& host) {
    trace::RunBatch batch;
    batch.batch_id = random_uuid();
    batch.host = host;
    batch.version = "1";
    batch.made_realtime_ns = day_ns;
    trace::RecordedRun run;
    run.event = "query";
    run.begin_realtime_ns = day_ns;
    run.duration_ns = 1000;
    batch.runs = {run};
    return batch;
}

TEST_F(IngestTest, KeepsABundleOnceAndPutsOneJob) {
    const Stored first = put_good("one");
    EXPECT_EQ(first.outcome, AddOutcome::New);
    EXPECT_EQ(first.bytes, 3U);
    EXPECT_EQ(put_good("one").outcome, AddOutcome::Already);
    const auto rows = store_->everything().bundles().list(10, {});
    ASSERT_TRUE(rows.ok());
    ASSERT_THAT(*rows, SizeIs(1));
    EXPECT_EQ(rows->front().sender, "tester");
    EXPECT_FALSE(rows->front().parsed);
    EXPECT_TRUE(has_blob("one"));
    EXPECT_EQ(jobs_, 1);
    const auto job = store_->jobs().take_job({parse_job}, 2, std::chrono::minutes(1));
    ASSERT_TRUE(job.ok() && job->has_value());
    const ParsePayload payload = ParsePayload::parse((*job)->payload);
    EXPECT_EQ(payload.digest, sha256_of("one"));
    EXPECT_EQ(payload.host, "db1");
}

TEST_F(IngestTest, KeepsABatchOnceAndRefusesOtherHosts) {
    const auto bytes = trace::write_run_batch(batch_of("db1"));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const std::string digest = sha256_of(*bytes);
    const Sender other{"tester", "db2"};
    EXPECT_EQ(std::get<Refusal>(ingest_->finish_batch(*bytes, digest, other, day_ns)).status, 403U);
    EXPECT_FALSE(*store_->batches().has_batch(digest));
    const Sender sender{"tester", "db1"};
    EXPECT_EQ(std::get<Stored>(ingest_->finish_batch(*bytes, digest, sender, day_ns)).outcome,
              AddOutcome::New);
    EXPECT_EQ(std::get<Stored>(ingest_->finish_batch(*bytes, digest, sender, day_ns)).outcome,
              AddOutcome::Already);
    Filter filter;
    filter.event = "query";
    EXPECT_EQ(store_->everything().summaries().count_runs(filter)->records, 1U);
    EXPECT_EQ(
        std::get<Refusal>(ingest_->finish_batch(*bytes, sha256_of("other"), sender, day_ns)).status,
        422U);
    EXPECT_EQ(
        std::get<Refusal>(ingest_->finish_batch("junk", sha256_of("junk"), sender, day_ns)).status,
        422U);
    EXPECT_EQ(ingest_->check_batch(trace::run_batch_limit_bytes + 1)->status, 413U);
    // A wrong clock stays wrong however often the batch is sent.
    const auto late =
        std::get<Refusal>(ingest_->finish_batch(*bytes, digest, sender, 500 * day_ns));
    EXPECT_EQ(late.status, 422U);
}

TEST_F(IngestTest, BatchesWithinSecondsCauseOneSearchAndNoneIsMissed) {
    constexpr std::uint64_t second_ns = 1'000'000'000;
    const auto send = [&](std::uint64_t at_ns) {
        trace::RunBatch batch = batch_of("db1");
        batch.runs.front().pid = static_cast<std::uint32_t>(at_ns / second_ns);
        const auto bytes = trace::write_run_batch(batch);
        ASSERT_TRUE(bytes.ok());
        const auto sent =
            ingest_->finish_batch(*bytes, sha256_of(*bytes), {"tester", "db1"}, at_ns);
        ASSERT_EQ(std::get<Stored>(sent).outcome, AddOutcome::New);
    };
    const auto search_by = [&](std::uint64_t now_ns) {
        const auto job = store_->jobs().take_job({dirty_job}, now_ns, std::chrono::minutes(1));
        if (!job || !*job) return false;
        EXPECT_TRUE(store_->jobs().finish_job(**job).ok());
        return true;
    };
    send(day_ns);
    send(day_ns + 10 * second_ns);
    EXPECT_FALSE(search_by(day_ns + 19 * second_ns));
    EXPECT_TRUE(search_by(day_ns + 20 * second_ns));
    EXPECT_FALSE(search_by(day_ns + 100 * second_ns));
    send(day_ns + 100 * second_ns);
    send(day_ns + 119 * second_ns);
    EXPECT_TRUE(search_by(day_ns + 120 * second_ns));
    send(day_ns + 121 * second_ns);
    EXPECT_TRUE(search_by(day_ns + 141 * second_ns));
}

TEST_F(IngestTest, RefusesAnotherDigestAndKeepsNothing) {
    const auto outcome = put("changed on the way", sha256_of("as sent"));
    ASSERT_TRUE(std::holds_alternative<Refusal>(outcome));
    EXPECT_EQ(std::get<Refusal>(outcome).status, 422U);
    EXPECT_THAT(store_->everything().bundles().list(10, {}).value(), IsEmpty());
    EXPECT_EQ(blob_count(), 0U);
}

TEST_F(IngestTest, ChecksSizeBeforeTheBody) {
    open({.bundle_bytes = 1000});
    EXPECT_FALSE(ingest_->check_bundle(1000).has_value());
    EXPECT_EQ(ingest_->check_bundle(1001)->status, 413U);
    EXPECT_EQ(ingest_->check_bundle(0)->status, 400U);
    open({.disk_reserve_bytes = UINT64_MAX / 2});
    EXPECT_EQ(ingest_->check_bundle(1)->status, 507U);
}

TEST_F(IngestTest, AFullDiskIsSaidAsSuch) {
    // Every write to it fails with ENOSPC.
    auto full = open_file("/dev/full", O_WRONLY);
    ASSERT_TRUE(full.ok());
    IncomingBlob blob(std::move(full).value(), {});
    const Status written = blob.write("x", 1);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(Ingest::refusal_of(written.error()).status, 507U);
}

TEST_F(IngestTest, ReconcileListsStoredBlobsAndDropsEmptyRows) {
    put_good("one");
    put_good("two");
    ASSERT_TRUE(store_->inventory().remove(sha256_of("one")).ok());
    ASSERT_TRUE(blobs_->remove(sha256_of("two")).ok());
    const auto mended = ingest_->reconcile(5);
    ASSERT_TRUE(mended.ok()) << mended.error().message;
    EXPECT_EQ(mended->rows_added, 1U);
    EXPECT_EQ(mended->rows_removed, 1U);
    EXPECT_THAT(store_->inventory().digests().value(), ElementsAre(sha256_of("one")));
}

TEST_F(IngestTest, AStartLeavesWaitingWorkAsItIs) {
    put_good("one");
    ASSERT_TRUE(ingest_->reconcile(5).ok());
    const auto job = store_->jobs().take_job({parse_job}, 5, std::chrono::minutes(1));
    ASSERT_TRUE(job.ok() && job->has_value());
    // the host that its token may upload for
    EXPECT_EQ(ParsePayload::parse((*job)->payload).host, "db1");
    EXPECT_EQ(store_->jobs().job_counts()->waiting, 0U);
}

TEST_F(IngestTest, RetentionBySizeTakesTheOldest) {
    open({.keep_bytes = 6});
    put_good("one", 1);
    put_good("two", 2);
    put_good("six", 3);
    const auto removed = ingest_->remove_bundles(4);
    ASSERT_TRUE(removed.ok());
    EXPECT_EQ(removed->bundles, 1U);
    EXPECT_EQ(removed->bytes, 3U);
    EXPECT_FALSE(store_->everything().bundles().find(sha256_of("one"))->has_value());
    EXPECT_FALSE(has_blob("one"));
    EXPECT_TRUE(has_blob("two"));
}

TEST_F(IngestTest, RetentionByAgeAndNoneByDefault) {
    put_good("one", day_ns);
    put_good("two", 3 * day_ns);
    EXPECT_EQ(ingest_->remove_bundles(100 * day_ns)->bundles, 0U);
    open({.keep_for = std::chrono::hours(24)});
    EXPECT_EQ(ingest_->remove_bundles(4 * day_ns)->bundles, 1U);
    EXPECT_EQ(ingest_->remove_bundles(0)->bundles, 0U);  // a clock that jumped back
    EXPECT_THAT(store_->inventory().digests().value(), ElementsAre(sha256_of("two")));
}

TEST_F(IngestTest, ListsPageByPage) {
    for (const char* content : {"a", "b", "c"}) put_good(content);
    const auto first = store_->everything().bundles().list(2, {});
    ASSERT_THAT(*first, SizeIs(2));
    EXPECT_EQ(first->front().digest, sha256_of("c"));
    const auto second = store_->everything().bundles().list(2, first->back().number);
    ASSERT_THAT(*second, SizeIs(1));
    EXPECT_EQ(second->front().digest, sha256_of("a"));
}

// "status message | hint | seconds | cause".
std::string text_of(const std::optional<Refusal>& refusal) {
    if (!refusal) return "none";
    return std::to_string(refusal->status) + " " + refusal->message + " | " + refusal->hint +
           " | " + std::to_string(refusal->retry_after.count()) + " | " + refusal->cause;
}

TEST_F(IngestTest, EachRefusalSaysWhatToDo) {
    open({.bundle_bytes = 1000});
    EXPECT_EQ(text_of(ingest_->check_bundle(0)), "400 the bundle is empty |  | 0 | ");
    EXPECT_EQ(text_of(ingest_->check_bundle(1001)),
              "413 the bundle has 1001 B; at most 1000 B are taken (--max-bundle) |  | 0 | ");
    EXPECT_EQ(text_of(ingest_->check_batch(0)), "400 the batch is empty |  | 0 | ");
    EXPECT_EQ(text_of(ingest_->check_batch(trace::run_batch_limit_bytes)), "none");
    EXPECT_EQ(text_of(ingest_->check_batch(1ULL << 40)),
              "413 the batch has 1.00 TiB; at most " +
                  format_byte_size(trace::run_batch_limit_bytes) + " are taken |  | 0 | ");
    const std::string full =
        "507 the server's disk is full | its operator can remove bundles (--keep-size) | 300 | ";
    open({.disk_reserve_bytes = UINT64_MAX / 2});
    EXPECT_EQ(text_of(ingest_->check_bundle(1)), full);
    EXPECT_EQ(text_of(ingest_->check_batch(1)), full);
    Error error = make_error(ErrorKind::System, "why");
    EXPECT_EQ(text_of(Ingest::refusal_of(error)),
              "500 the server could not store it | its log says why | 10 | why");
    for (const ErrorKind kind : {ErrorKind::Busy, ErrorKind::Timeout})
        EXPECT_EQ(text_of(Ingest::refusal_of(make_error(kind, "why"))),
                  "503 the server cannot reach its store | the same request may succeed later | 10 "
                  "| why");
    for (const int number : {ENOSPC, EDQUOT}) {
        error.system_errno = number;
        EXPECT_EQ(text_of(Ingest::refusal_of(error)), full + "why");
    }
}

TEST_F(IngestTest, WhatIsWrongWithAnUploadIsSaid) {
    EXPECT_EQ(text_of(std::get<Refusal>(put("a", sha256_of("b")))),
              "422 the digest of what came is " + sha256_of("a") +
                  ", not the one in the address | send the file again | 0 | ");
    const auto batch = [&](const std::string& bytes, const std::string& digest,
                           const std::string& host, std::uint64_t now_ns) {
        return text_of(
            std::get<Refusal>(ingest_->finish_batch(bytes, digest, {"tester", host}, now_ns)));
    };
    EXPECT_EQ(batch("a", sha256_of("b"), "", day_ns),
              "422 the digest of what came is " + sha256_of("a") +
                  ", not the one in the address | send the file again | 0 | ");
    EXPECT_THAT(batch("junk", sha256_of("junk"), "", day_ns),
                testing::StartsWith("422 this is no batch of runs: "));
    const std::string bytes = *trace::write_run_batch(batch_of("db1"));
    EXPECT_EQ(batch(bytes, sha256_of(bytes), "db2", day_ns),
              "403 the token may speak for host db2 alone, not for db1 |  | 0 | ");
    EXPECT_EQ(batch(bytes, sha256_of(bytes), "", 500 * day_ns),
              "422 the batch has a run from more than 400 days ago; is the clock of the sender "
              "right? |  | 0 | ");
    EXPECT_THAT(ingest_->event_counters().text(nullptr), testing::Not(HasSubstr("query")));
    EXPECT_EQ(store_->jobs().job_counts()->waiting, 0U);
}

TEST_F(IngestTest, RunsOfABatchAreCountedOnce) {
    const std::string bytes = *trace::write_run_batch(batch_of("db1"));
    for (int i = 0; i < 2; ++i) {
        const auto stored =
            ingest_->finish_batch(bytes, sha256_of(bytes), {"tester", "db1"}, day_ns);
        EXPECT_EQ(std::get<Stored>(stored).bytes, bytes.size());
        EXPECT_EQ(std::get<Stored>(stored).digest, sha256_of(bytes));
    }
    EXPECT_THAT(ingest_->event_counters().text(nullptr),
                HasSubstr("\nlagtrap_event_duration_seconds_count{event=\"query\",unit=\"\"} 1\n"));
}

TEST_F(IngestTest, ABadBundleIsKnownWithItsReason) {
    put_good("one");
    ASSERT_TRUE(store_->inventory().set_contents(sha256_of("one"), {}, "it is torn", {}).value());
    const Stored again = put_good("one");
    EXPECT_EQ(again.outcome, AddOutcome::Already);
    EXPECT_EQ(again.bad_reason, "it is torn");
    EXPECT_EQ(again.bytes, 3U);
    EXPECT_EQ(again.digest, sha256_of("one"));
}

TEST_F(IngestTest, OnlyFoundBlobsAreNewWork) {
    put_good("one", 7);
    ASSERT_TRUE(store_->inventory().remove(sha256_of("one")).ok());
    jobs_ = 0;
    ASSERT_TRUE(ingest_->reconcile(9).ok());
    EXPECT_EQ(jobs_, 1);
    const auto row = store_->everything().bundles().find(sha256_of("one"));
    ASSERT_TRUE(row.ok() && row->has_value());
    EXPECT_EQ((*row)->bytes, 3U);
    EXPECT_EQ((*row)->received_realtime_ns, 9U);
    const auto mended = ingest_->reconcile(10);
    EXPECT_EQ(mended->rows_added + mended->rows_removed, 0U);
    EXPECT_EQ(jobs_, 1) << "nothing is new";
}

TEST_F(IngestTest, RunsGoByAgeAndBySize) {
    const auto send = [&](const std::string& host, std::uint64_t begin_ns) {
        trace::RunBatch batch = batch_of(host);
        batch.runs.front().begin_realtime_ns = begin_ns;
        const std::string bytes = *trace::write_run_batch(batch);
        const auto sent =
            ingest_->finish_batch(bytes, sha256_of(bytes), {"tester", ""}, 100 * day_ns);
        ASSERT_TRUE(std::holds_alternative<Stored>(sent));
    };
    send("a", 10 * day_ns);
    send("b", 50 * day_ns);
    send("c", 99 * day_ns);
    EXPECT_EQ(ingest_->remove_runs(100 * day_ns).value(), 0U) << "all are kept by default";
    open({.keep_runs_for = std::chrono::hours(24 * 60)});
    EXPECT_EQ(ingest_->remove_runs(5 * day_ns).value(), 0U) << "a clock that was set back";
    EXPECT_EQ(ingest_->remove_runs(100 * day_ns).value(), 1U);
    EXPECT_EQ(store_->upkeep().size()->runs, 2U);
    open({.keep_runs_bytes = 1});
    EXPECT_GT(ingest_->remove_runs(100 * day_ns).value(), 0U);
    EXPECT_LT(store_->upkeep().size()->runs, 2U);
}

TEST_F(IngestTest, RetentionRemovesMoreThanOneStepOfBundles) {
    open({.keep_bytes = 10});
    for (int i = 0; i < 230; ++i) {
        BundleRow row;
        row.digest = sha256_of(std::to_string(i));
        row.bytes = 5;
        row.received_realtime_ns = static_cast<std::uint64_t>(i);
        ASSERT_TRUE(store_->inventory().add(row, {parse_job, row.digest, 1}).ok());
    }
    const auto removed = ingest_->remove_bundles(1000);
    ASSERT_TRUE(removed.ok());
    EXPECT_EQ(removed->bundles, 228U);
    EXPECT_EQ(removed->bytes, 1140U);
    EXPECT_EQ(store_->inventory().totals()->bundles, 2U) << "as many bytes as may stay";
}

TEST(ParsePayload, HasADigestAndPerhapsAHost) {
    EXPECT_EQ((ParsePayload{"ab12", "web 1"}).text(), "ab12 web 1");
    const ParsePayload with_host = ParsePayload::parse("ab12 web 1");
    EXPECT_EQ(with_host.digest, "ab12");
    EXPECT_EQ(with_host.host, "web 1");
    for (const char* text : {"ab12", "ab12 "}) {
        EXPECT_EQ(ParsePayload::parse(text).digest, "ab12");
        EXPECT_EQ(ParsePayload::parse(text).host, "");
    }
}

}  // namespace
}  // namespace lagtrap::server::ingest_test
