#include "server/api/counters.hpp"

#include <fmt/format.h>

namespace lagtrap::server {
namespace {

std::string metric(const char* type, const char* name, const char* help, std::uint64_t value) {
    return fmt::format(
        "# HELP lagtrap_server_{0} {1}\n# TYPE lagtrap_server_{0} {2}\nlagtrap_server_{0} {3}\n",
        name, help, type, value);
}

}  // namespace

std::string format_metrics(const Counters& counters, const Totals& totals, const StoreSize& size,
                           const JobCounts& jobs, const JobFigures& figures) {
    std::string text;
    text += metric("counter", "requests_total", "Requests answered.", counters.requests);
    text += metric("counter", "requests_refused_total", "Requests answered with 4xx or 5xx.",
                   counters.refused_requests);
    text += metric("counter", "requests_failed_total", "Requests ended by an exception.",
                   counters.requests_failed);
    text +=
        metric("counter", "uploads_new_total", "Bundles and batches stored.", counters.uploads_new);
    text += metric("counter", "uploads_already_total", "Uploads of what was there already.",
                   counters.uploads_already);
    text +=
        metric("counter", "uploads_refused_total", "Uploads refused.", counters.uploads_refused);
    text += metric("counter", "uploads_over_quota_total",
                   "Of these, uploads of senders that had their quota of the day.",
                   counters.uploads_over_quota);
    text += metric("counter", "uploads_aborted_total", "Uploads that ended early or were too slow.",
                   counters.uploads_aborted);
    text += metric("counter", "upload_bytes_total", "Bytes of bundles and batches received.",
                   counters.upload_bytes);
    text += metric("counter", "bundles_expired_total", "Bundles removed by retention.",
                   counters.bundles_expired);
    text += metric("counter", "audit_lost_total",
                   "Entries of the audit that the store did not take.", counters.audit_lost);
    text += metric("counter", "audit_left_out_total",
                   "Refused attempts without an entry of their own in the audit.",
                   counters.audit_left_out);
    text += metric("gauge", "connections", "Connections open.", counters.connections);
    text += metric("counter", "connections_refused_total", "Connections over a limit.",
                   counters.connections_refused);
    text += metric("counter", "connections_refused_of_address_total",
                   "Connections over the limit of one address.",
                   counters.connections_refused_of_address);
    text += metric("gauge", "bundles", "Bundles stored now.", totals.bundles);
    text += metric("gauge", "bundles_bad", "Stored bundles that cannot be read.", totals.bad);
    text += metric("gauge", "bundle_bytes", "Bytes of the stored bundles.", totals.bytes);
    text += metric("gauge", "delays", "Delays in the stored bundles.", totals.delays);
    text += metric("gauge", "uploads", "Uploads running.", counters.uploads_now);
    text += metric("counter", "runs_expired_total", "Runs removed by retention.",
                   counters.runs_expired);
    text += metric("gauge", "runs", "Records of runs stored now.", size.runs);
    text += metric("gauge", "runs_lost",
                   "Runs that machines lost, as batches of the last 30 days report.", size.lost);
    text += metric("gauge", "store_bytes", "Bytes of the database.", size.bytes);
    text += metric("gauge", "store_memory_bytes",
                   "Memory held by the database engine in this process.", size.memory_bytes);
    text += metric("gauge", "jobs_waiting", "Jobs that wait.", jobs.waiting);
    text += metric("gauge", "jobs_running", "Jobs that run, on any server.", jobs.running);
    text += metric("gauge", "jobs_failed", "Jobs that failed for good.", jobs.failed);
    text +=
        metric("counter", "bundles_parsed_total", "Bundles looked into.", figures.bundles_parsed);
    text += metric("counter", "bundles_bad_total", "Bundles found to be unreadable.",
                   figures.bundles_bad);
    text += metric("counter", "parser_failures_total",
                   "Times that the parser broke or met its limits.", figures.parser_failures);
    text += metric("counter", "runs_dirty_total", "Runs that a rule hid or put back.",
                   figures.runs_marked_dirty);
    return text;
}

std::string quota_metrics(std::uint64_t limit_bytes, const QuotaUse& use) {
    return metric("gauge", "quota_bytes", "Bytes that a sender may bring a day; 0: no limit.",
                  limit_bytes) +
           metric("gauge", "quota_senders",
                  "Senders that the quota counted today, over all servers of the store.",
                  use.senders) +
           metric("gauge", "quota_most_bytes",
                  "Most bytes that the quota counted today for one sender.", use.max_bytes);
}

}  // namespace lagtrap::server
