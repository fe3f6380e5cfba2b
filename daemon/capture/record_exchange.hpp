// Records between the thread of a rundown and its owner.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class RecordExchange {
  public:
    struct Next {
        RecordBuffer events;
        bool last = false;  // the owner will add no more
    };

    // For the owner.
    void add(const RecordBuffer& events) {
        if (events.empty()) return;
        {
            const std::scoped_lock lock(mutex_);
            events_.append(events);
        }
        more_.notify_one();
    }
    void end() {
        {
            const std::scoped_lock lock(mutex_);
            ending_ = true;
        }
        more_.notify_one();
    }
    [[nodiscard]] RecordBuffer take_records() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(records_, RecordBuffer());
    }
    // Waits until the thread has delivered its last records. False: it has not in this time.
    bool wait_for_last(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        return end_.wait_for(lock, timeout, [this] { return ended_; });
    }

    // For the thread. Waits for events, or for the end.
    [[nodiscard]] Next next() {
        std::unique_lock lock(mutex_);
        more_.wait(lock, [this] { return ending_ || !events_.empty(); });
        return {std::exchange(events_, RecordBuffer()), ending_};
    }
    void deliver(const RecordBuffer& records, bool last = false) {
        const std::scoped_lock lock(mutex_);
        records_.append(records);
        ended_ = last;
        if (last) end_.notify_one();
    }

  private:
    std::mutex mutex_;  // protects the following members
    std::condition_variable more_, end_;
    RecordBuffer events_;
    RecordBuffer records_;
    bool ending_ = false;
    bool ended_ = false;
};

}  // namespace lagtrap::daemon
