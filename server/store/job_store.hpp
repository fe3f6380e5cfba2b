// Work to be done once by any of the server's copies: parsing a bundle, looking for dirty runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

inline constexpr std::uint32_t job_attempts_limit = 3;

struct Job {
    std::uint64_t id = 0;
    std::string kind;
    std::string payload;
    std::uint32_t attempts = 0;  // with the one that begins
    std::string lease;           // proves to finish_job() and others that the job is still ours
};

// Work that is to be done, no earlier than a moment.
struct NewJob {
    std::string kind;
    std::string payload;
    std::uint64_t not_before_realtime_ns = 0;
};

struct FailedJob {
    Job job;
    std::string reason;
    std::uint64_t failed_realtime_ns = 0;
};

struct JobCounts {
    std::uint64_t waiting = 0;  // their time may not have come
    std::uint64_t running = 0;
    std::uint64_t failed = 0;  // for good
};

// As for RunStore. Times are handed in, so that all copies should agree on them within a fraction of the lease.
class JobStore {
  public:
    JobStore() = default;
    JobStore(const JobStore&) = delete;
    JobStore& operator=(const JobStore&) = delete;
    virtual ~JobStore() = default;

    // Already: a job of this kind and payload waits already, and is not put twice.
    [[nodiscard]] virtual Result<AddOutcome> put_job(const NewJob& job) = 0;
    // The job that waits longest, of one of `kinds` (all if empty). It is nobody else's until the lease is over; a
    // job whose lease is over is taken again, or fails for good after job_attempts_limit attempts.
    [[nodiscard]] virtual Result<std::optional<Job>> take_job(const std::vector<std::string>& kinds,
                                                              std::uint64_t now_realtime_ns,
                                                              std::chrono::nanoseconds lease) = 0;
    // Those below give false if the lease has gone to somebody else.
    [[nodiscard]] virtual Result<bool> renew_job(const Job& job, std::uint64_t now_realtime_ns,
                                                 std::chrono::nanoseconds lease) = 0;
    [[nodiscard]] virtual Result<bool> finish_job(const Job& job) = 0;
    // To be tried again at `retry_realtime_ns`, or failed for good after the last attempt.
    [[nodiscard]] virtual Result<bool> fail_job(const Job& job, const std::string& reason,
                                                std::uint64_t now_realtime_ns, std::uint64_t retry_realtime_ns) = 0;
    [[nodiscard]] virtual Result<JobCounts> job_counts() = 0;
    [[nodiscard]] virtual Result<std::vector<FailedJob>> failed_jobs(std::uint32_t limit) = 0;  // the newest first
};

}  // namespace lagtrap::server
