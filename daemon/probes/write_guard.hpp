// Notices that somebody opens a watched file for writing before they can write, because a probe
// placed by the old content would break instructions of the new one. Read leases (F_SETLEASE,
// fcntl(2)) delay the open until the probes are detached.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "core/unique_fd.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/threads/wakeup.hpp"

namespace lagtrap::daemon {

class WriteGuard {
  public:
    // Called on the guard's thread while the writer waits; the writer's open() continues when it
    // returns.
    using OnWrite = std::function<void(const std::string& path)>;

    explicit WriteGuard(OnWrite on_write);
    ~WriteGuard();
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

    // The following is thread-safe.

    enum class Lease {
        // nobody has it open for writing, and an attempt to open it for writing is delayed
        Held,
        OpenForWriting,  // somebody has it open for writing; written() is true
        // leases are not available: other file systems, or other users' files without CAP_LEASE
        None,
    };
    // Starts guarding the file, in place of an earlier file with the same path. Can block on the
    // file system.
    Lease hold(std::shared_ptr<const WatchedFile> file);
    // Stops guarding the file with this path and closes it.
    void release(const std::string& path);
    // True if the file with this path was open for writing at hold(), or has been opened for
    // writing since.
    [[nodiscard]] bool written(const std::string& path) const;
    // True if the lease has been held ever since hold(): the content cannot have changed, whatever
    // its times say.
    [[nodiscard]] bool holds(const std::string& path) const;

  private:
    [[nodiscard]] Lease take_lease(const WatchedFile& file) const;
    void give_back(const std::string& path);
    void serve();
    void take_signals();
    void leave(int fd);
    void look_at_all();

    OnWrite on_write_;
    UniqueFd signals_;
    Wakeup stop_;
    pid_t thread_id_ = 0;
    mutable std::mutex mutex_;
    std::map<int, std::shared_ptr<const WatchedFile>> leases_;  // by descriptor
    std::set<std::string> written_;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
