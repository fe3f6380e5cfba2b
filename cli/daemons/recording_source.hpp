// Records the whole machine for a command, with the running daemon or a temporary one.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/daemons/temporary_daemon.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

class RecordingSource {
  public:
    // Uses the daemon behind `socket` if it is free and lets the caller record and read recordings;
    // otherwise a temporary one, which needs root. Once `stop` is set, waits end with
    // ErrorKind::Vanished.
    [[nodiscard]] static Result<std::unique_ptr<RecordingSource>> find(const std::filesystem::path& socket,
                                                                       const volatile std::sig_atomic_t& stop);

    // Returns once the recording has started; it ends by itself after `length`.
    [[nodiscard]] Status begin(std::chrono::nanoseconds length);
    // Ends the recording now, unless it has already ended.
    void finish();
    // Waits until the recording has ended. Polls `over`, which can end it early.
    template <typename Over>
    [[nodiscard]] Status await_end(const Over& over) {
        for (bool reported = false;; pause()) {
            TRY_ASSIGN(const bool ended, has_ended());
            if (ended) return success();
            if (!reported && over()) {
                finish();
                reported = true;
            }
        }
    }
    // Waits for the bundle and returns its path.
    [[nodiscard]] Result<std::filesystem::path> bundle();

    [[nodiscard]] bool is_temporary() const { return own_ != nullptr; }

  private:
    RecordingSource() = default;
    [[nodiscard]] Status alive() const { return own_ ? own_->alive() : success(); }
    [[nodiscard]] Result<bool> has_ended() const;
    static void pause();

    std::unique_ptr<TemporaryDaemon> own_;
    std::filesystem::path socket_;
    std::string event_;  // the request must name one; it has no effect on the recording
    std::string session_;
};

}  // namespace lagtrap::cli
