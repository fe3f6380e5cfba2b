#pragma once

#include <algorithm>
#include <chrono>

#include "uploader/schedule.hpp"

namespace lagtrap::uploader {

// When to use the spool again after a failure: after 1 s, then each time twice as long, at most
// 60 s. A disk that is full, read-only or broken may recover.
class SpoolPause {
  public:
    // Begins a pause and returns its length.
    std::chrono::seconds note_failure(TimePoint now) {
        recovery_due_ = true;
        length_ = std::clamp(2 * length_, std::chrono::seconds(1), std::chrono::seconds(60));
        ends_at_ = now + length_;
        return length_;
    }
    void note_success() { length_ = {}; }
    [[nodiscard]] TimePoint ends_at() const { return ends_at_; }
    // True if sending/ may contain an entry that nobody is sending.
    [[nodiscard]] bool recovery_due() const { return recovery_due_; }
    void note_recovery() { recovery_due_ = false; }

  private:
    bool recovery_due_ = false;
    std::chrono::seconds length_{};
    TimePoint ends_at_{};
};

}  // namespace lagtrap::uploader
