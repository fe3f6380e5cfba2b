// A process that runs a lagtrapd for its owner and cleans up after both, even if the owner is
// killed.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

class DaemonKeeper {
  public:
    // Starts `program --settings SETTINGS`, with its output in `log`. `folder` contains all its
    // files and is removed at the end. The caller must have a single thread.
    [[nodiscard]] static Result<std::unique_ptr<DaemonKeeper>> start(
        const std::string& program, const std::string& settings, const std::string& log,
        const std::filesystem::path& folder);
    DaemonKeeper(const DaemonKeeper&) = delete;
    DaemonKeeper& operator=(const DaemonKeeper&) = delete;
    // Ends the daemon; returns when it has ended and its folder is removed.
    ~DaemonKeeper();

    // True if the daemon has ended by itself.
    [[nodiscard]] bool daemon_has_ended() const;
    // Makes the daemon reload its settings.
    [[nodiscard]] Status reload() const;

  private:
    DaemonKeeper(pid_t keeper, UniqueFd link) : keeper_(keeper), link_(std::move(link)) {}

    pid_t keeper_;
    // from the keeper: the daemon's process ID when it starts, end of file when it ends
    UniqueFd link_;
    pid_t daemon_ = -1;
};

}  // namespace lagtrap::cli
