// The kernel's events about processes: all of them in order, and those of a capture for its log.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "daemon/processes/task_events.hpp"
#include "daemon/unwinding/follow_events.hpp"

namespace lagtrap::daemon {

// Thread-safe. No call waits for a file, because starting a capture must not wait for that.
class TaskEventLog {
  public:
    explicit TaskEventLog(TaskEvents events) : events_(std::move(events)) {}

    struct Ordered {
        RecordBuffer records;    // known to be complete, in order of time
        bool some_lost = false;  // the kernel dropped some since the last call
    };
    [[nodiscard]] Ordered take_ordered();
    // See TaskEvents.
    [[nodiscard]] std::vector<int> renew();
    [[nodiscard]] int wakeup_fd() const { return events_.wakeup_fd(); }

    // From now on, events are also kept for take_captured(). The thread that takes ordered events
    // must describe the mappings of this time.
    void begin_capture();
    // When the capture began whose mappings must be described, once; 0 if there is none.
    [[nodiscard]] std::uint64_t take_capture_to_describe();
    // Adds the mappings of that time to the capture's log, if the capture is still the same.
    void add_description(std::uint64_t at_ns, const RecordBuffer& mappings);
    // The events since the last call and the descriptions, unordered.
    [[nodiscard]] RecordBuffer take_captured();
    // Reads the last events for take_captured(). False if the description is missing, even though
    // it waited for it.
    [[nodiscard]] bool end_capture();
    // Ends the capture and discards its events.
    void forget_capture();
    [[nodiscard]] bool is_capturing() const { return capturing_; }

    // Events lost since the start, by the kernel or because the capture's log was full.
    [[nodiscard]] std::uint64_t lost() const;

  private:
    // Call it with mutex_ held.
    void drain();

    mutable std::mutex mutex_;
    TaskEvents events_;
    EventOrder order_;
    CaptureEvents captured_;
    std::uint64_t lost_before_ = 0;
    std::atomic<bool> capturing_{false};  // changed with mutex_ held
    std::uint64_t capture_began_ns_ = 0;
    std::uint64_t capture_to_describe_ns_ = 0;
    bool described_ = true;
    std::condition_variable has_described_;
};

}  // namespace lagtrap::daemon
