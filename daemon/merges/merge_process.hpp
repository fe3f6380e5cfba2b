// The process of lagtrap-merge: its start, its priority and its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

struct MergeTask {
    std::filesystem::path capture;
    std::filesystem::path output;
    // Look up function names, for which the files of watched programs are opened.
    bool with_names = true;
    // Wall-clock time, because a merge that waits for a hung file system uses no CPU time.
    std::chrono::nanoseconds limit = std::chrono::minutes(10);
};

// Whoever starts it must call wait_for_end(); the destructor does not end the process.
class MergeProcess {
  public:
    // Starts `program [--without-names] CAPTURE OUTPUT` at the lowest priority. It writes to the
    // descriptor `output`, of which it gets copies. Errors: nothing is running.
    [[nodiscard]] static Result<MergeProcess> start(const std::string& program,
                                                    const MergeTask& task, int output);

    // A pidfd, which becomes readable when the process has ended. Call it once.
    [[nodiscard]] UniqueFd take_end() { return std::move(end_); }
    // Raises the priority by one step. False if it is the normal one already, to end with.
    bool raise_priority();
    // Kills it and its helpers.
    void kill() const;
    // Reaps it. Blocks until it has ended. Returns its status, as waitpid(2) does.
    [[nodiscard]] int wait_for_end() const;

  private:
    explicit MergeProcess(pid_t pid) : pid_(pid) {}
    void set_nice(int nice);

    pid_t pid_;
    UniqueFd end_;
    int nice_ = 0;
};

}  // namespace lagtrap::daemon
