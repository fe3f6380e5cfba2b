// Notices that somebody opens a watched file for writing, before they can: a probe placed by the old content would break
// instructions of the new one. Read leases (F_SETLEASE, fcntl(2)) hold the opening up until the probes are out.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

class WriteGuard {
  public:
    // Called on the guard's thread while the writer waits; whoever opens the file goes on when it returns.
    using OnWrite = std::function<void(const std::string& path)>;

    // Leases are taken when this returns. Files of which none can be had (other file systems, files of other users
    // without CAP_LEASE) are not guarded.
    WriteGuard(std::vector<std::string> paths, OnWrite on_write);
    ~WriteGuard();
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

    // Whether the file was open for writing when the guard began, or was opened since. From any thread.
    [[nodiscard]] bool written(const std::string& path) const;

  private:
    void take_leases(const std::vector<std::string>& paths);
    void serve();

    OnWrite on_write_;
    std::map<int, std::pair<std::string, UniqueFd>> leases_;  // by descriptor; the thread's own
    mutable std::mutex mutex_;
    std::map<std::string, bool> written_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace lagtrap::daemon
