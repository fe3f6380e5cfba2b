// The process that a trace of calls, functions or objects is of.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// One thread's.
class TracedProcess {
  public:
    // ErrorKind::NotFound: there is no process of that number.
    [[nodiscard]] static Result<TracedProcess> open(std::uint32_t pid);
    [[nodiscard]] bool has_ended() const;
    // As the kernel has it, made safe to show; empty: it has ended.
    [[nodiscard]] std::string name() const;

  private:
    TracedProcess(std::uint32_t pid, UniqueFd process) : pid_(pid), process_(std::move(process)) {}
    std::uint32_t pid_;
    UniqueFd process_;
};

}  // namespace lagtrap::daemon
