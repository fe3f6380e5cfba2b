#pragma once

#include <chrono>

#include "spool/spool.hpp"
#include "uploader/schedule.hpp"

namespace lagtrap::uploader {

// Keeps the spool within its limits, and logs what was removed.
class SpoolTidying {
  public:
    [[nodiscard]] TimePoint due_at() const { return last_ + interval; }
    void tidy(spool::Spool& spool, const spool::RetentionLimits& limits);

  private:
    static constexpr std::chrono::minutes interval{10};

    TimePoint last_{};
    spool::RetentionLock lock_;
};

}  // namespace lagtrap::uploader
