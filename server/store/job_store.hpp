// A queue of jobs that any server of the store runs once: parsing a bundle, searching for dirty
// runs or causes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/add_outcome.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;

inline constexpr std::uint32_t job_attempts_limit = 3;
struct Job {
    std::uint64_t id = 0;
    std::string kind;
    std::string payload;
    std::uint32_t attempts = 0;  // including the current one
    // proves to finish_job() and others that this server still holds the job
    std::string lease;
};

// A job to run no earlier than a given time.
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
    std::uint64_t waiting = 0;  // including those whose time has not come
    std::uint64_t running = 0;
    std::uint64_t failed = 0;  // for good
};

// The rules of Store apply. Callers pass the time, so the clocks of all servers should agree within
// a fraction of the lease.
class JobStore {
  public:
    explicit JobStore(SqlSession& session) : session_(&session) {}

    // Already: a job with this kind and payload is waiting, and no second one is added.
    [[nodiscard]] Result<AddOutcome> put_job(const NewJob& job) const;
    // Takes the job of one of `kinds` (all if empty) that has waited longest. Other servers cannot
    // take it until the lease ends. A job whose lease has ended is taken again, or fails for good
    // after job_attempts_limit attempts.
    [[nodiscard]] Result<std::optional<Job>> take_job(const std::vector<std::string>& kinds,
                                                      std::uint64_t now_realtime_ns,
                                                      std::chrono::nanoseconds lease) const;
    // The functions below return false if another server has taken the lease.
    [[nodiscard]] Result<bool> renew_job(const Job& job, std::uint64_t now_realtime_ns,
                                         std::chrono::nanoseconds lease) const;
    [[nodiscard]] Result<bool> finish_job(const Job& job) const;
    // Retries the job at `retry_realtime_ns`; after the last attempt it fails for good.
    [[nodiscard]] Result<bool> fail_job(const Job& job, const std::string& reason,
                                        std::uint64_t now_realtime_ns,
                                        std::uint64_t retry_realtime_ns) const;
    [[nodiscard]] Result<JobCounts> job_counts() const;
    // newest first
    [[nodiscard]] Result<std::vector<FailedJob>> failed_jobs(std::uint32_t limit) const;

  private:
    SqlSession* session_;
};

// Runs inside the caller's transaction; false if such a job is already waiting.
[[nodiscard]] Result<bool> insert_job(Connection& connection, const NewJob& job);

}  // namespace lagtrap::server
