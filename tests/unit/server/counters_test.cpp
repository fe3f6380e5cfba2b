#include "server/api/counters.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace lagtrap::server::counters_test {
namespace {

// Without the lines of help, which say the same in words.
std::string figures_of(const std::string& metrics) {
    std::istringstream lines(metrics);
    std::string text;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("# HELP lagtrap_server_"))
            text += line.substr(line.find("lagtrap_server_") + 15) + "\n";
    return text;
}

TEST(Counters, EachHasItsOwnFigure) {
    Counters counters;
    counters.requests = 1;
    counters.refused_requests = 2;
    counters.uploads_new = 3;
    counters.uploads_already = 4;
    counters.uploads_refused = 5;
    counters.uploads_over_quota = 6;
    counters.uploads_aborted = 7;
    counters.upload_bytes = 8;
    counters.uploads_now = 9;
    counters.bundles_expired = 10;
    counters.runs_expired = 11;
    counters.audit_lost = 12;
    counters.audit_left_out = 13;
    counters.connections = 14;
    counters.connections_refused = 15;
    counters.connections_refused_of_address = 16;
    counters.requests_failed = 17;
    Totals totals;
    totals.bundles = 18;
    totals.bytes = 19;
    totals.bad = 20;
    totals.delays = 21;
    StoreSize size;
    size.runs = 22;
    size.lost = 23;
    size.bytes = 24;
    size.memory_bytes = 25;
    JobCounts jobs;
    jobs.waiting = 26;
    jobs.running = 27;
    jobs.failed = 28;
    JobFigures figures;
    figures.bundles_parsed = 29;
    figures.bundles_bad = 30;
    figures.parser_failures = 31;
    figures.runs_marked_dirty = 32;
    EXPECT_EQ(figures_of(format_metrics(counters, totals, size, jobs, figures)),
              "requests_total counter\nrequests_total 1\n"
              "requests_refused_total counter\nrequests_refused_total 2\n"
              "requests_failed_total counter\nrequests_failed_total 17\n"
              "uploads_new_total counter\nuploads_new_total 3\n"
              "uploads_already_total counter\nuploads_already_total 4\n"
              "uploads_refused_total counter\nuploads_refused_total 5\n"
              "uploads_over_quota_total counter\nuploads_over_quota_total 6\n"
              "uploads_aborted_total counter\nuploads_aborted_total 7\n"
              "upload_bytes_total counter\nupload_bytes_total 8\n"
              "bundles_expired_total counter\nbundles_expired_total 10\n"
              "audit_lost_total counter\naudit_lost_total 12\n"
              "audit_left_out_total counter\naudit_left_out_total 13\n"
              "connections gauge\nconnections 14\n"
              "connections_refused_total counter\nconnections_refused_total 15\n"
              "connections_refused_of_address_total counter\n"
              "connections_refused_of_address_total 16\n"
              "bundles gauge\nbundles 18\n"
              "bundles_bad gauge\nbundles_bad 20\n"
              "bundle_bytes gauge\nbundle_bytes 19\n"
              "delays gauge\ndelays 21\n"
              "uploads gauge\nuploads 9\n"
              "runs_expired_total counter\nruns_expired_total 11\n"
              "runs gauge\nruns 22\n"
              "runs_lost gauge\nruns_lost 23\n"
              "store_bytes gauge\nstore_bytes 24\n"
              "store_memory_bytes gauge\nstore_memory_bytes 25\n"
              "jobs_waiting gauge\njobs_waiting 26\n"
              "jobs_running gauge\njobs_running 27\n"
              "jobs_failed gauge\njobs_failed 28\n"
              "bundles_parsed_total counter\nbundles_parsed_total 29\n"
              "bundles_bad_total counter\nbundles_bad_total 30\n"
              "parser_failures_total counter\nparser_failures_total 31\n"
              "runs_dirty_total counter\nruns_dirty_total 32\n");
    EXPECT_EQ(figures_of(quota_metrics(33, {34, 35})),
              "quota_bytes gauge\nquota_bytes 33\n"
              "quota_senders gauge\nquota_senders 34\n"
              "quota_most_bytes gauge\nquota_most_bytes 35\n");
}

}  // namespace
}  // namespace lagtrap::server::counters_test
