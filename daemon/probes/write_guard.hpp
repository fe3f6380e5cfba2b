// Notices that somebody opens a watched file for writing, before they can: a probe placed by the old content would break
// instructions of the new one. Read leases (F_SETLEASE, fcntl(2)) hold the opening up until the probes are out.
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

namespace lagtrap::daemon {

class WriteGuard {
  public:
    // Called on the guard's thread while the writer waits; whoever opens the file goes on when it returns.
    using OnWrite = std::function<void(const std::string& path)>;

    explicit WriteGuard(OnWrite on_write);
    ~WriteGuard();
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

    // The following may be called from any thread.

    enum class Lease {
        Held,            // nobody can write to the file, or has it open for that
        OpenForWriting,  // by somebody; written() holds
        None,            // there is none for it: other file systems, files of other users without CAP_LEASE
    };
    // Guards the file, in place of the one of its path before. May wait for the file system.
    Lease hold(std::shared_ptr<const WatchedFile> file);
    // Guards the file of this path no longer, and lets go of it.
    void release(const std::string& path);
    // Whether the file of this path was open for writing when hold() was called, or was opened so since.
    [[nodiscard]] bool written(const std::string& path) const;
    // Whether it has had a lease ever since hold(): not a byte of it has changed, whatever its times say.
    [[nodiscard]] bool holds(const std::string& path) const;

  private:
    [[nodiscard]] Lease take_lease(const WatchedFile& file) const;
    void give_back(const std::string& path);
    void serve();
    void take_signals();
    void leave(int fd);
    void look_at_all();

    OnWrite on_write_;
    UniqueFd signals_, stop_;
    pid_t thread_id_ = 0;
    mutable std::mutex mutex_;
    std::map<int, std::shared_ptr<const WatchedFile>> leases_;  // by descriptor
    std::set<std::string> written_;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
