#include "server/ingest/ingest.hpp"

#include <fcntl.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lagtrap::server::ingest_test
