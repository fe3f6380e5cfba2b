// The thread that follows the kernel's events about processes, once a second and often during a
// capture, and publishes which code is mapped where.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "daemon/threads/heartbeat.hpp"
#include "daemon/threads/wakeup.hpp"
#include "daemon/unwinding/followed_code.hpp"
#include "daemon/unwinding/mapping_identifier.hpp"
#include "daemon/unwinding/scan_budget.hpp"
#include "daemon/unwinding/table_makers.hpp"
#include "daemon/unwinding/task_event_log.hpp"
#include "daemon/unwinding/unwinder_status.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class CodeFollower {
  public:
    // Starts the thread, which first reads all processes. The references must outlive it.
    CodeFollower(FollowedCode& code, TaskEventLog& events, TableMakers& makers,
                 MappingIdentifier& identifier, const Wakeup& wakeup);
    // Needs `stopping` of the code.
    ~CodeFollower();
    CodeFollower(const CodeFollower&) = delete;
    CodeFollower& operator=(const CodeFollower&) = delete;

    // Reads all processes again, soon.
    void scan();
    // Time since the thread last completed a round, which it should do every second.
    [[nodiscard]] std::chrono::steady_clock::duration silent_for() const {
        return heartbeat_.silence();
    }
    // As of at most a tenth of a second before the last round, without lost events.
    [[nodiscard]] UnwinderStatus status() const;

  private:
    struct Scans {
        std::atomic<bool> wanted{false};
        bool due = false;  // events were lost since the last scan
        ScanBudget budget;
        std::uint64_t done = 0;
    };

    void work();
    // Waits until somebody asks for a look, the pause is over, or, without a capture, until shortly
    // after a program has started or a ring is half full.
    void wait_for_work(std::chrono::milliseconds pause) const;
    // Takes new events. Describes a capture that began at `capture_ns`, unless that is 0.
    void take(const RecordBuffer& events, std::uint64_t capture_ns);
    // Adds the mappings of all processes at that time to the capture's log, once all earlier events
    // are known.
    void describe(std::uint64_t at_ns);
    // Publishes the results. Call it after taking events. True if tables are being made.
    [[nodiscard]] bool publish();
    // Starts over if that is wanted, or if events were lost and the budget allows it; otherwise the
    // next call does. True if it started over because of losses.
    [[nodiscard]] bool scan_if_needed(bool some_lost);
    void start_over();
    void note_status();

    FollowedCode& code_;
    TaskEventLog& events_;
    TableMakers& makers_;
    MappingIdentifier& identifier_;
    const Wakeup& wakeup_;
    Heartbeat heartbeat_;
    Scans scans_;
    std::chrono::steady_clock::time_point last_sweep_;
    std::uint64_t not_described_ = 0;
    mutable std::mutex status_mutex_;
    UnwinderStatus status_;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
