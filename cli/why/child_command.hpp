// A command that the caller runs as if from the shell, from a moment of the caller's choosing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

// It has the caller's terminal, folder and files; run by sudo, it is of the user who called sudo.
class ChildCommand {
  public:
    // A process that waits for go(). The caller must have one thread. `words` is not empty.
    [[nodiscard]] static Result<ChildCommand> prepare(const std::vector<std::string>& words);
    ChildCommand(ChildCommand&& other) noexcept;
    ChildCommand& operator=(ChildCommand&&) = delete;
    ~ChildCommand();

    // Lets it become the command. The error has the errno for which it cannot.
    [[nodiscard]] Status go();
    // Whether it ends within this time. Its end is remembered.
    [[nodiscard]] bool ends_within(std::chrono::nanoseconds time);
    void wait();
    // As a shell has it: of a signal 128 and its number. Once it has ended.
    [[nodiscard]] int exit_code() const;
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    ChildCommand(pid_t pid, UniqueFd link, UniqueFd end) : pid_(pid), link_(std::move(link)), end_(std::move(end)) {}

    pid_t pid_;
    UniqueFd link_;  // to the process while it waits; closed when it becomes the command
    UniqueFd end_;   // its pidfd
    std::optional<int> status_;
};

}  // namespace lagtrap::cli
