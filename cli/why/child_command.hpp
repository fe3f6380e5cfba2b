// Runs a command as the shell would, starting when the caller says so.
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

// The command has the caller's terminal, folder and open files. Under sudo, it runs as the user who
// called sudo.
class ChildCommand {
  public:
    // Forks a process that waits for go(). The caller must have a single thread; `words` must not
    // be empty.
    [[nodiscard]] static Result<ChildCommand> prepare(const std::vector<std::string>& words);
    ChildCommand(ChildCommand&& other) noexcept;
    ChildCommand& operator=(ChildCommand&&) = delete;
    ~ChildCommand();

    // Executes the command. An error has the errno of the failure.
    [[nodiscard]] Status go();
    // Waits up to `time` for the command to end; returns true if it has ended.
    [[nodiscard]] bool ends_within(std::chrono::nanoseconds time);
    void wait();
    // As in a shell: 128 plus the signal's number if a signal ended it. Call only after it has
    // ended.
    [[nodiscard]] int exit_code() const;
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    ChildCommand(std::string name, pid_t pid, UniqueFd link, UniqueFd end)
        : name_(std::move(name)), pid_(pid), link_(std::move(link)), end_(std::move(end)) {}

    std::string name_;  // for errors
    pid_t pid_;
    UniqueFd link_;  // to the process while it waits; closed when it becomes the command
    UniqueFd end_;   // its pidfd
    std::optional<int> status_;
};

}  // namespace lagtrap::cli
