// The thread that finds files that watched programs will map (watched_code.hpp). It has its own
// thread, because untrusted files determine how long this takes.
#pragma once

#include <condition_variable>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "daemon/unwinding/followed_code.hpp"
#include "daemon/unwinding/table_makers.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class WatchedFinder {
  public:
    // Starts the thread. The references must outlive it.
    WatchedFinder(FollowedCode& code, TableMakers& makers);
    // Needs `stopping` of the code.
    ~WatchedFinder();
    WatchedFinder(const WatchedFinder&) = delete;
    WatchedFinder& operator=(const WatchedFinder&) = delete;

    // Sets the watched programs. A search for earlier ones ends.
    void watch(std::set<std::string> paths);

  private:
    void work();

    FollowedCode& code_;
    TableMakers& makers_;
    std::condition_variable to_worker_;
    std::optional<std::set<std::string>> wanted_;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
