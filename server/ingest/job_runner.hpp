// Runs the jobs that uploads queue, on its own threads: parses bundles and searches for dirty runs
// and causes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/result.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

struct JobFigures {
    std::atomic<std::uint64_t> bundles_parsed{0};
    std::atomic<std::uint64_t> bundles_bad{0};
    std::atomic<std::uint64_t> parser_failures{0};  // the parser crashed or exceeded its limits
    std::atomic<std::uint64_t> runs_marked_dirty{0};
};

class JobRunner {
  public:
    using Log = std::function<void(const std::string&)>;

    // `store` and `blobs` must outlive it. Calls `log` on its threads. `parser` is the program that
    // parses, see ParseWorker::start().
    JobRunner(Store& store, Blobs& blobs, Log log, std::string parser = {})
        : store_(store), blobs_(blobs), log_(std::move(log)), parser_(std::move(parser)) {}
    JobRunner(const JobRunner&) = delete;
    JobRunner& operator=(const JobRunner&) = delete;
    ~JobRunner() { stop(); }

    void start(std::uint32_t threads);
    // Finishes running jobs. Others stay queued for the next start or for other servers.
    void stop();
    // Signals a new job. Any thread.
    void wake();
    // Runs one job if there is one; returns whether there was. For tests and for start-up.
    [[nodiscard]] Result<bool> run_one(std::uint64_t now_realtime_ns);
    // Marks bundles as bad if their jobs failed for good without a reason (the server was killed
    // three times).
    void close_failed_jobs();
    [[nodiscard]] const JobFigures& figures() const { return figures_; }

  private:
    void work();
    [[nodiscard]] Status parse(const Job& job, std::uint64_t now_ns);
    [[nodiscard]] Status mark_bad(const std::string& digest, const std::string& reason);

    Store& store_;
    Blobs& blobs_;
    Log log_;
    const std::string parser_;
    JobFigures figures_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::uint64_t wakes_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace lagtrap::server
