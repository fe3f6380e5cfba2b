// The process of a trace of calls, functions or objects.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class TracedProcess {
  public:
    // ErrorKind::NotFound: there is no process with this number.
    [[nodiscard]] static Result<TracedProcess> open(std::uint32_t pid);
    [[nodiscard]] bool has_ended() const;
    // The kernel's name of the process, printable; empty if it has exited.
    [[nodiscard]] std::string name() const;

  private:
    TracedProcess(std::uint32_t pid, UniqueFd process) : pid_(pid), process_(std::move(process)) {}
    std::uint32_t pid_;
    UniqueFd process_;
};

}  // namespace lagtrap::daemon
