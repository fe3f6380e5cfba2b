// Counters since the server started. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/ingest/job_runner.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

struct Counters {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> refused_requests{0};  // answered with 4xx or 5xx
    std::atomic<std::uint64_t> uploads_new{0};
    std::atomic<std::uint64_t> uploads_already{0};
    std::atomic<std::uint64_t> uploads_refused{0};
    // of these, because the sender's daily quota was used up
    std::atomic<std::uint64_t> uploads_over_quota{0};
    std::atomic<std::uint64_t> uploads_aborted{0};  // the connection ended or was too slow
    std::atomic<std::uint64_t> upload_bytes{0};
    std::atomic<std::uint64_t> uploads_now{0};
    std::atomic<std::uint64_t> bundles_expired{0};  // removed by retention
    std::atomic<std::uint64_t> runs_expired{0};
    std::atomic<std::uint64_t> audit_lost{0};      // entries that the store did not take
    std::atomic<std::uint64_t> audit_left_out{0};  // refused attempts without their own entry
    std::atomic<std::uint64_t> connections{0};     // open now
    std::atomic<std::uint64_t> connections_refused{0};
    // of these, because one address had too many
    std::atomic<std::uint64_t> connections_refused_of_address{0};
    std::atomic<std::uint64_t> requests_failed{0};  // ended by an exception
};

// Prometheus' text format.
[[nodiscard]] std::string format_metrics(const Counters& counters, const Totals& totals,
                                         const StoreSize& size, const JobCounts& jobs,
                                         const JobFigures& figures);
[[nodiscard]] std::string quota_metrics(std::uint64_t limit_bytes, const QuotaUse& use);

}  // namespace lagtrap::server
