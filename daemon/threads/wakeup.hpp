// Wakes a thread that polls descriptors.
#pragma once

#include <sys/eventfd.h>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// An eventfd(2). Thread-safe.
class Wakeup {
  public:
    Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    // False if the process had no descriptor left.
    [[nodiscard]] bool valid() const { return fd_.valid(); }
    // Readable from notify() until clear().
    [[nodiscard]] int fd() const { return fd_.get(); }
    void notify() const { (void)::eventfd_write(fd_.get(), 1); }
    void clear() const {
        eventfd_t count = 0;
        (void)::eventfd_read(fd_.get(), &count);
    }

  private:
    UniqueFd fd_;
};

}  // namespace lagtrap::daemon
