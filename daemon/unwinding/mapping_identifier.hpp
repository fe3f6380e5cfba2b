// The thread that inspects mapped files: it finds out which files are mapped, and reads processes
// again that exceeded their limit. It has its own thread, because untrusted files determine how
// long this takes.
#pragma once

#include <condition_variable>
#include <thread>

#include "daemon/threads/wakeup.hpp"
#include "daemon/unwinding/followed_code.hpp"

namespace lagtrap::daemon {

class MappingIdentifier {
  public:
    // Starts the thread, which notifies `follower` of results. The references must outlive it.
    MappingIdentifier(FollowedCode& code, const Wakeup& follower);
    // Needs `stopping` of the code.
    ~MappingIdentifier();
    MappingIdentifier(const MappingIdentifier&) = delete;
    MappingIdentifier& operator=(const MappingIdentifier&) = delete;

    // There may be something to inspect. Call it with the mutex of the code held.
    void notify();

  private:
    void work();
    // True if there were any.
    bool identify_files();
    bool read_outgrown();

    FollowedCode& code_;
    const Wakeup& follower_;
    std::condition_variable to_worker_;
    bool wanted_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
