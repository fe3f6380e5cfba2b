// Keeps the spool within its limits on its own thread, because scanning a full spool and removing
// files takes time. Without an uploader, nobody else would do it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/log.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

// What this daemon has removed since its start, and what prevents it from removing more.
struct SpoolKept {
    spool::RetentionOutcome removed;
    std::string problem;  // at the last check; empty if there is none
};

// Thread-safe.
class SpoolKeeper {
  public:
    using Now = std::function<std::chrono::steady_clock::time_point()>;
    // Starts at once. `log` gets a warning about removed files and about new problems, on any
    // thread. If another process holds the spool's lock for a minute, by the clock `now`, that is a
    // problem too.
    SpoolKeeper(spool::Spool spool, spool::RetentionLimits limits, Log log,
                Now now = std::chrono::steady_clock::now);
    // Stops the thread after finishing the current removal.
    ~SpoolKeeper();
    SpoolKeeper(const SpoolKeeper&) = delete;
    SpoolKeeper& operator=(const SpoolKeeper&) = delete;

    // Checks now, because there is a new bundle or the limits changed. It also checks once a
    // minute.
    void look();
    void set_limits(spool::RetentionLimits limits);
    [[nodiscard]] SpoolKept kept() const;

  private:
    void work();
    void keep(const spool::RetentionLimits& limits);

    spool::Spool spool_;
    spool::RetentionLock lock_;  // only for the keeper's thread, like was_held_
    bool was_held_ = false;      // at the last check, another process had held it for a minute
    Log log_;
    Now now_;
    mutable std::mutex mutex_;  // protects the following members
    std::condition_variable more_;
    spool::RetentionLimits limits_;
    SpoolKept kept_;
    bool looking_ = true;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
