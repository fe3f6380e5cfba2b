#include "server/ingest/job_runner.hpp"

#include <sys/stat.h>

#include <fstream>

#include <gmock/gmock.h>

#include "server/ingest/jobs.hpp"
#include "server/ingest/parsed_bundle.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::job_runner_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t now_ns = 1'790'000'000ULL * second_ns;
const std::string digest = std::string(60, 'd') + "1234";

class JobRunnerSteps : public StoreFixture {
  protected:
    // A program in place of the parser.
    std::string program(const std::string& script) {
        const auto path = directory_ / "parser.sh";
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        ::chmod(path.c_str(), 0700);
        return path;
    }
    std::string parser_of(const ParsedBundle& parsed) {
        std::ofstream(directory_ / "answer", std::ios::binary)
            << "+" << write_parsed_bundle(parsed);
        return program("cat " + (directory_ / "answer").string());
    }
    JobRunner runner(const std::string& parser) {
        return {*store_, *blobs_, [this](const std::string& line) { log_.push_back(line); },
                parser};
    }
    // A bundle whose bytes are there, with its job.
    void add_bundle(const std::string& host = {}) {
        auto blob = blobs_->begin();
        ASSERT_TRUE(blob.ok() && blob->write("bytes", 5).ok() && blob->seal().ok());
        ASSERT_TRUE(blobs_->keep(*blob, digest).ok());
        add_row(host);
    }
    void add_row(const std::string& host = {}) {
        BundleRow row;
        row.digest = digest;
        row.received_realtime_ns = now_ns;
        ASSERT_TRUE(store_->inventory()
                        .add(row, {parse_job, ParsePayload{digest, host}.text(), now_ns})
                        .ok());
    }
    BundleRow bundle() {
        const auto row = store_->everything().bundles().find(digest);
        EXPECT_TRUE(row.ok() && row->has_value());
        return row.ok() && *row ? **row : BundleRow{};
    }
    // "kind payload" of the jobs that may begin at that time.
    std::vector<std::string> jobs_at(std::uint64_t at_ns) {
        std::vector<std::string> jobs;
        for (;;) {
            const auto job = store_->jobs().take_job({}, at_ns, std::chrono::minutes(1));
            if (!job.ok() || !*job) return jobs;
            jobs.push_back((*job)->kind + " " + (*job)->payload);
        }
    }
    static std::vector<std::uint64_t> figures_of(const JobRunner& runner) {
        const JobFigures& figures = runner.figures();
        return {figures.bundles_parsed, figures.bundles_bad, figures.parser_failures,
                figures.runs_marked_dirty};
    }

    std::vector<std::string> log_;
};

TEST_F(JobRunnerSteps, WhatIsParsedIsKeptAndItsCausesAreSearched) {
    add_bundle("web-1");
    ParsedBundle parsed;
    parsed.facts.host = "web-1";
    parsed.facts.process = "shop";
    parsed.facts.delays = 3;
    for (const char* event : {"search", "checkout", "search"}) {
        BundleDelay& delay = parsed.delays.emplace_back();
        delay.number = static_cast<std::uint32_t>(parsed.delays.size());
        delay.event = event;
        delay.begin_realtime_ns = now_ns;
        delay.duration_ns = 80 * parsed.delays.size();
        delay.build = "b1";
        delay.program_version = "2.1-3";
    }
    JobRunner jobs = runner(parser_of(parsed));
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_FALSE(jobs.run_one(now_ns).value());
    const BundleRow row = bundle();
    EXPECT_TRUE(row.parsed);
    EXPECT_EQ(row.bad_reason, "");
    EXPECT_EQ(row.facts.process, "shop");
    const auto delays = store_->everything().delays().of_bundle(digest);
    ASSERT_TRUE(delays.ok());
    EXPECT_EQ(delays->size(), 3U);
    const auto builds = store_->everything().builds().build_labels();
    ASSERT_TRUE(builds.ok());
    ASSERT_EQ(builds->size(), 1U);
    EXPECT_EQ(builds->front().build, "b1");
    EXPECT_EQ(builds->front().name, "2.1-3");
    EXPECT_EQ(builds->front().at_realtime_ns, now_ns);
    EXPECT_THAT(jobs_at(now_ns + 20 * second_ns - 1), IsEmpty());
    EXPECT_THAT(jobs_at(now_ns + 20 * second_ns), ElementsAre("causes checkout", "causes search"));
    EXPECT_THAT(figures_of(jobs), ElementsAre(1, 0, 0, 0));
    EXPECT_THAT(log_, IsEmpty());
}

TEST_F(JobRunnerSteps, ARemovedBundleIsNotParsed) {
    add_bundle();
    ASSERT_TRUE(store_->inventory().remove(digest).ok());
    JobRunner jobs = runner(program("exit 1"));
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_FALSE(jobs.run_one(now_ns + 3600 * second_ns).value());
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 0, 0, 0));
}

TEST_F(JobRunnerSteps, WithoutItsBytesABundleIsBad) {
    add_row();
    JobRunner jobs = runner(parser_of({}));
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_FALSE(jobs.run_one(now_ns + 3600 * second_ns).value());
    EXPECT_EQ(bundle().bad_reason, "its bytes are gone");
    EXPECT_TRUE(bundle().parsed);
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 1, 0, 0));
    EXPECT_THAT(log_, ElementsAre("dddddddddddddddd cannot be read: its bytes are gone"));
}

TEST_F(JobRunnerSteps, ABundleMayBeOfTheTokensHostAlone) {
    add_bundle("web-1");
    ParsedBundle parsed;
    parsed.facts.host = "web-2";
    parsed.delays.emplace_back().event = "search";
    JobRunner jobs = runner(parser_of(parsed));
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_EQ(bundle().bad_reason,
              "it is of host web-2, but the token it came with may speak for web-1 alone");
    EXPECT_EQ(bundle().facts.host, "");
    EXPECT_THAT(*store_->everything().delays().of_bundle(digest), IsEmpty());
    EXPECT_THAT(jobs_at(now_ns + 3600 * second_ns), IsEmpty());
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 1, 0, 0));
}

TEST_F(JobRunnerSteps, AReasonIsShortAndNeverEmpty) {
    add_bundle();
    JobRunner jobs = runner(program("printf -- -; printf 'x%.0s' $(seq 600)"));
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_EQ(bundle().bad_reason, std::string(500, 'x'));
    ASSERT_TRUE(store_->inventory().remove(digest).ok());
    add_bundle();
    JobRunner silent = runner(program("printf -- -"));
    EXPECT_TRUE(silent.run_one(now_ns).value());
    EXPECT_EQ(bundle().bad_reason, "unreadable");
    EXPECT_THAT(figures_of(silent), ElementsAre(0, 1, 0, 0)) << "the parser did its work";
}

TEST_F(JobRunnerSteps, ABrokenParserIsTriedAgainLaterEachTime) {
    add_bundle();
    JobRunner jobs = runner(program("exit 1"));
    const auto failed = jobs.run_one(now_ns);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message, "parse " + digest + " : the parser ended early");
    EXPECT_FALSE(jobs.run_one(now_ns + 5 * second_ns - 1).value());
    EXPECT_FALSE(jobs.run_one(now_ns + 5 * second_ns).ok());
    EXPECT_FALSE(jobs.run_one(now_ns + 15 * second_ns - 1).value());
    EXPECT_TRUE(jobs.run_one(now_ns + 15 * second_ns).value()) << "nobody tries it again";
    EXPECT_EQ(bundle().bad_reason, "the parser ended early");
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 3, 3, 0));
    EXPECT_EQ(log_.size(), 3U);
    EXPECT_EQ(store_->jobs().job_counts()->failed, 0U);
}

TEST_F(JobRunnerSteps, RunsThatDifferAreMarkedAndCounted) {
    trace::RunBatch batch;
    batch.host = "web-1";
    for (std::uint64_t i = 0; i < 41; ++i) {
        trace::RecordedRun& run = batch.runs.emplace_back();
        run.event = "search";
        run.begin_realtime_ns = now_ns + i;
        run.duration_ns = i == 40 ? 900'000'000 : 10'000'000 + i * 100'000;
    }
    ASSERT_TRUE(store_->batches().add_batch({digest, 1, now_ns, ""}, batch).ok());
    ASSERT_TRUE(store_->jobs().put_job({dirty_job, "search", now_ns}).ok());
    JobRunner jobs = runner("");
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 0, 0, 1));
    EXPECT_FALSE(jobs.run_one(now_ns).value()) << "it is done";
}

TEST_F(JobRunnerSteps, JobsOfOtherKindsAreLeftToOthers) {
    ASSERT_TRUE(store_->jobs().put_job({"of a later version", "x", now_ns}).ok());
    ASSERT_TRUE(store_->jobs().put_job({causes_job, "search", now_ns}).ok());
    JobRunner jobs = runner("");
    EXPECT_TRUE(jobs.run_one(now_ns).value());
    EXPECT_FALSE(jobs.run_one(now_ns).value());
    EXPECT_THAT(jobs_at(now_ns), ElementsAre("of a later version x"));
}

TEST_F(JobRunnerSteps, ItsThreadsDoWhatWaits) {
    add_bundle();
    JobRunner jobs = runner(parser_of({}));
    jobs.start(2);
    while (!bundle().parsed) std::this_thread::yield();
    jobs.stop();
    jobs.stop();
    EXPECT_THAT(figures_of(jobs), ElementsAre(1, 0, 0, 0));
}

TEST_F(JobRunnerSteps, ItsThreadsSayWhatFailed) {
    add_bundle();
    {
        JobRunner jobs = runner(program("exit 1"));
        jobs.start(1);
        while (jobs.figures().parser_failures == 0) std::this_thread::yield();
    }
    ASSERT_EQ(log_.size(), 2U);
    EXPECT_EQ(log_[1], "a job could not be done: parse " + digest + " : the parser ended early");
}

// A job that fails for good after its server was killed each time it had it.
TEST_F(JobRunnerSteps, OnlyBundlesThatNobodyReadAreClosed) {
    add_row();
    ASSERT_TRUE(store_->jobs().put_job({causes_job, "search", now_ns}).ok());
    for (std::uint64_t i = 0; i < 8; ++i) {
        const auto taken =
            store_->jobs().take_job({}, now_ns + i * 3600 * second_ns, std::chrono::seconds(1));
        ASSERT_TRUE(taken.ok());
    }
    ASSERT_EQ(store_->jobs().job_counts()->failed, 2U);
    const std::string reason = store_->jobs().failed_jobs(1)->at(0).reason;
    JobRunner jobs = runner("");
    jobs.close_failed_jobs();
    EXPECT_EQ(bundle().bad_reason, "reading it ended the server, each time: " + reason);
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 1, 0, 0));
    jobs.close_failed_jobs();
    EXPECT_THAT(figures_of(jobs), ElementsAre(0, 1, 0, 0)) << "it is marked already";
}

}  // namespace
}  // namespace lagtrap::server::job_runner_test
