#include "server/store/job_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::job_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

class JobStoreTest : public StoreTest {
  protected:
    void put(const std::string& kind, const std::string& payload, std::uint64_t not_before_ns) {
        ASSERT_EQ(must(store_->jobs().put_job({kind, payload, not_before_ns})), AddOutcome::New);
    }
    std::optional<Job> take(std::uint64_t now_ns, const std::vector<std::string>& kinds = {}) {
        return must(store_->jobs().take_job(kinds, now_ns, 100ns));
    }
    std::string payload(std::uint64_t now_ns, const std::vector<std::string>& kinds = {}) {
        const auto job = take(now_ns, kinds);
        return job ? job->payload : "";
    }
    // Lets a job fail for good.
    void fail(const std::string& what, const std::string& reason, std::uint64_t at_ns) {
        put("fail", what, 0);
        for (int attempt = 1; attempt <= 3; ++attempt) {
            const auto job = take(at_ns, {"fail"});
            ASSERT_TRUE(job.has_value());
            ASSERT_TRUE(must(store_->jobs().fail_job(*job, reason, at_ns, at_ns)));
        }
    }
};

TEST_F(JobStoreTest, TheOneThatWaitedLongestIsTakenFirst) {
    put("parse", "late", 30);
    put("parse", "first", 10);
    put("dirty", "second", 10);
    put("causes", "third", 20);
    const auto job = take(10);
    ASSERT_TRUE(job.has_value());
    EXPECT_EQ(job->payload, "first");
    EXPECT_EQ(job->kind, "parse");
    EXPECT_EQ(job->attempts, 1U);
    EXPECT_NE(job->lease, "");
    EXPECT_EQ(payload(9), "");
    EXPECT_EQ(payload(50, {"causes", "other"}), "third");
    EXPECT_EQ(payload(50, {"causes"}), "");
    EXPECT_EQ(payload(50), "second");
    EXPECT_EQ(payload(50), "late");
}

TEST_F(JobStoreTest, OnlyWithItsLeaseIsAJobFinishedRenewedOrFailed) {
    put("parse", "a", 0);
    const Job job = take(1).value();
    Job stolen = job;
    stolen.lease = "other";
    EXPECT_FALSE(must(store_->jobs().finish_job(stolen)));
    EXPECT_FALSE(must(store_->jobs().renew_job(stolen, 2, 1000ns)));
    EXPECT_FALSE(must(store_->jobs().fail_job(stolen, "x", 2, 3)));
    EXPECT_EQ(must(store_->jobs().job_counts()).running, 1U);
    ASSERT_TRUE(must(store_->jobs().fail_job(job, "x", 2, 3)));
    for (const Job& over : {job, stolen}) {
        EXPECT_FALSE(must(store_->jobs().finish_job(over)));
        EXPECT_FALSE(must(store_->jobs().fail_job(over, "x", 2, 3)));
        EXPECT_FALSE(must(store_->jobs().renew_job(over, 2, 1000ns)));
    }
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 1U);
}

TEST_F(JobStoreTest, ALeaseLastsUntilItsEndFromItsLastRenewal) {
    put("parse", "a", 0);
    const Job job = take(1000).value();
    EXPECT_EQ(payload(1099), "");
    ASSERT_TRUE(must(store_->jobs().renew_job(job, 1099, 100ns)));
    EXPECT_EQ(payload(1198), "");
    const auto again = take(1199);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->attempts, 2U);
    EXPECT_NE(again->lease, job.lease);
}

TEST_F(JobStoreTest, AFailedAttemptIsRepeatedAtItsTime) {
    put("parse", "a", 0);
    ASSERT_TRUE(must(store_->jobs().fail_job(take(1).value(), "torn", 2, 50)));
    EXPECT_EQ(payload(49), "");
    EXPECT_EQ(take(50)->attempts, 2U);
    EXPECT_THAT(must(store_->jobs().failed_jobs(9)), IsEmpty());
}

TEST_F(JobStoreTest, AFailedAttemptGivesWayToTheSameWorkThatWaits) {
    put("parse", "a", 0);
    const Job job = take(1).value();
    put("parse", "a", 7);
    ASSERT_TRUE(must(store_->jobs().fail_job(job, "torn", 2, 3)));
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 1U);
    EXPECT_EQ(payload(6), "");
    EXPECT_EQ(take(7)->attempts, 1U) << "the one that was put later";
    // The same holds for one whose worker went away.
    put("parse", "a", 500);
    EXPECT_EQ(payload(499), "");
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 1U);
    EXPECT_EQ(must(store_->jobs().job_counts()).running, 0U);
}

TEST_F(JobStoreTest, FailedJobsSayWhyAndWhenNewestFirst) {
    fail("early", "torn\x1b", 10);
    fail("late", "gone", 30);
    fail("later", "gone", 30);
    const auto failed = must(store_->jobs().failed_jobs(9));
    ASSERT_THAT(failed, SizeIs(3));
    EXPECT_EQ(failed[0].job.payload, "later");
    EXPECT_EQ(failed[1].job.payload, "late");
    EXPECT_EQ(failed[2].job.payload, "early");
    EXPECT_EQ(failed[2].job.kind, "fail");
    EXPECT_EQ(failed[2].job.attempts, 3U);
    EXPECT_EQ(failed[2].reason, "torn\\x1b");
    EXPECT_EQ(failed[2].failed_realtime_ns, 10U);
    EXPECT_THAT(must(store_->jobs().failed_jobs(2)), SizeIs(2));
    EXPECT_EQ(payload(99, {"fail"}), "") << "failed for good";
    // The same work may be put again.
    put("fail", "early", 0);
}

TEST_F(JobStoreTest, AWorkerThatGoesAwayEachTimeIsTheReason) {
    put("parse", "a", 0);
    std::uint64_t now_ns = 0;
    for (int attempt = 1; attempt <= 3; ++attempt) EXPECT_EQ(payload(now_ns += 1000), "a");
    EXPECT_EQ(payload(now_ns + 99), "");
    EXPECT_EQ(must(store_->jobs().job_counts()).running, 1U);
    EXPECT_EQ(payload(now_ns + 100), "");
    const FailedJob failed = must(store_->jobs().failed_jobs(9)).at(0);
    EXPECT_EQ(failed.reason, "its worker went away each time");
    EXPECT_EQ(failed.failed_realtime_ns, now_ns + 100);
    EXPECT_EQ(must(store_->jobs().job_counts()).running, 0U);
}

TEST_F(JobStoreTest, EachStateIsCounted) {
    fail("x", "", 1);
    put("parse", "a", 0);
    put("parse", "b", 0);
    put("parse", "c", day);
    put("parse", "d", day);
    EXPECT_EQ(payload(1), "a");
    const JobCounts counts = must(store_->jobs().job_counts());
    EXPECT_EQ(counts.waiting, 3U);
    EXPECT_EQ(counts.running, 1U);
    EXPECT_EQ(counts.failed, 1U);
}

TEST_F(JobStoreTest, TheSamePayloadOfAnotherKindIsOtherWork) {
    put("parse", "a", 0);
    put("dirty", "a", 0);
    put("parse", "b", 0);
    EXPECT_EQ(must(store_->jobs().put_job({"parse", "a", 5})), AddOutcome::Already);
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 3U);
}

}  // namespace
}  // namespace lagtrap::server::job_store_test
