// A temporary lagtrapd for some seconds, next to one that may be running.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "cli/daemons/daemon_keeper.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// True if the daemon with this status has armed its events, or cannot, and has seen all processes.
[[nodiscard]] bool is_armed(const boost::json::object& status);

enum class DaemonPurpose {
    Measuring,  // of runs, or recordings on request
    Watching,   // for delays, as with usual settings
};

// Its settings, socket and spool are in a private folder, which is deleted with it. It ends when
// this process does. Needs root.
class TemporaryDaemon {
  public:
    // `program` is lagtrapd's; `events` are elements of the settings. Returns once they are armed
    // or cannot be armed. Once `stop` is set, waits end early with ErrorKind::Vanished.
    [[nodiscard]] static Result<std::unique_ptr<TemporaryDaemon>> start(
        const std::string& program, const std::string& events,
        const volatile std::sig_atomic_t& stop, DaemonPurpose purpose = DaemonPurpose::Measuring);
    TemporaryDaemon(const TemporaryDaemon&) = delete;
    TemporaryDaemon& operator=(const TemporaryDaemon&) = delete;
    ~TemporaryDaemon();

    // Replaces the watched events.
    [[nodiscard]] Status watch(const std::string& events);
    // Returns its status after waiting for `time`.
    [[nodiscard]] Result<boost::json::object> status_after(std::chrono::nanoseconds time);
    // Records the machine for `event`, for its trace length; returns the bundle.
    [[nodiscard]] Result<std::filesystem::path> record(const std::string& event);

    // Its answer to "status".
    [[nodiscard]] Result<boost::json::object> status() const;
    [[nodiscard]] std::filesystem::path socket() const { return folder_ / "control.sock"; }
    // Has the runs of events with record="runs", about half a second after they ended.
    [[nodiscard]] std::filesystem::path spool() const { return folder_ / "spool"; }
    // An error with its output, if it has ended.
    [[nodiscard]] Status alive() const;

  private:
    TemporaryDaemon(const volatile std::sig_atomic_t& stop, DaemonPurpose purpose)
        : stop_(stop), purpose_(purpose) {}
    [[nodiscard]] Status write_settings(const std::string& events) const;
    // Polls the status until `done(status)`.
    template <typename Done>
    [[nodiscard]] Result<boost::json::object> await(std::chrono::nanoseconds limit,
                                                    const char* what, const Done& done);

    const volatile std::sig_atomic_t& stop_;
    const DaemonPurpose purpose_;
    std::filesystem::path folder_;
    std::unique_ptr<DaemonKeeper> keeper_;
};

}  // namespace lagtrap::cli
