// Records the whole machine for a command, with the running daemon or a temporary one.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/control/control_client.hpp"
#include "cli/daemons/temporary_daemon.hpp"
#include "cli/daemons/temporary_event.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

class RecordingSource {
  public:
    // As root: uses the daemon behind `socket` if it is free, and otherwise, or if that daemon is
    // older, a temporary one. As another user with the right to trace: a temporary event of that
    // daemon, which records apart from it. Once `stop` is set, waits end with ErrorKind::Vanished.
    [[nodiscard]] static Result<std::unique_ptr<RecordingSource>> find(
        const std::filesystem::path& socket, const volatile std::sig_atomic_t& stop);
    // The daemon behind `socket`; nullptr if it does not run, records already or watches nothing.
    [[nodiscard]] static std::unique_ptr<RecordingSource> with_running_daemon(
        const std::filesystem::path& socket, const volatile std::sig_atomic_t& stop);

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
    // Waits for the bundle and returns its path. The daemon removes it when this object or the next
    // recording of it ends.
    [[nodiscard]] Result<std::filesystem::path> bundle();

    [[nodiscard]] bool is_temporary() const { return own_ != nullptr; }

  private:
    explicit RecordingSource(const volatile std::sig_atomic_t& stop) : stop_(stop) {}
    [[nodiscard]] Status start_own();
    [[nodiscard]] Status start_event();
    [[nodiscard]] Status begin_with_daemon(std::chrono::nanoseconds length);
    [[nodiscard]] Result<std::filesystem::path> bundle_of_daemon();
    [[nodiscard]] Status alive() const { return own_ ? own_->alive() : success(); }
    [[nodiscard]] Result<boost::json::object> ask(const boost::json::object& request);
    [[nodiscard]] Result<bool> has_ended();
    // The bundle of this recording, if it is the one in `status` or beside that; otherwise empty.
    [[nodiscard]] Result<std::filesystem::path> bundle_in(const boost::json::object& status);
    static void pause();

    const volatile std::sig_atomic_t& stop_;
    std::unique_ptr<TemporaryDaemon> own_;
    std::optional<TemporaryEvent> event_;
    std::optional<DaemonLines> lines_;  // of the running daemon, about the recording
    std::filesystem::path socket_;
    std::string session_;
};

}  // namespace lagtrap::cli
