// Keeps the spool within its limits. On a thread of its own, as going over a full spool and removing files takes its time;
// where no uploader runs nobody else would do it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "spool/spool.hpp"

namespace lagtrap::daemon {

// What the daemon itself has removed since it began, and what hinders it.
struct SpoolKept {
    spool::RetentionOutcome removed;
    std::string problem;  // of the last time; empty: none
};

// Functions may be called from any thread.
class SpoolKeeper {
  public:
    using Now = std::function<std::chrono::steady_clock::time_point()>;
    // Begins at once. `warn` is told of what was removed, and of a problem when it is a new one; from any thread. A problem is
    // also that another process has held the spool's lock for a minute, by the clock `now`.
    SpoolKeeper(spool::Spool spool, spool::RetentionLimits limits, std::function<void(const std::string&)> warn,
                Now now = std::chrono::steady_clock::now);
    // Ends the thread; what it removes at the moment is removed.
    ~SpoolKeeper();
    SpoolKeeper(const SpoolKeeper&) = delete;
    SpoolKeeper& operator=(const SpoolKeeper&) = delete;

    // Looks now: a bundle has come, or limits have changed. Without it, once a minute.
    void look();
    void set_limits(spool::RetentionLimits limits);
    [[nodiscard]] SpoolKept kept() const;

  private:
    void work();
    void keep(const spool::RetentionLimits& limits);

    spool::Spool spool_;
    spool::RetentionLock lock_;  // of the thread's own, as the next
    bool was_held_ = false;      // by another, for a minute, when it looked last
    std::function<void(const std::string&)> warn_;
    Now now_;
    mutable std::mutex mutex_;  // over what follows
    std::condition_variable more_;
    spool::RetentionLimits limits_;
    SpoolKept kept_;
    bool looking_ = true;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
