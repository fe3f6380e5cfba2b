// A lagtrapd of one's own, for some seconds, beside the one that may run.
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

enum class DaemonPurpose {
    Measuring,  // of runs, or recordings on request
    Watching,   // for delays, as with usual settings
};

// Its settings, socket and spool are in a folder of their own, which goes with it; it ends when its owner does. Needs root.
class TemporaryDaemon {
  public:
    // `events` are elements of the settings. Returns when they are armed, or were found not to be armable. Waits end early,
    // with ErrorKind::Vanished, once `stop` is set.
    [[nodiscard]] static Result<std::unique_ptr<TemporaryDaemon>> start(
        const std::string& events, const volatile std::sig_atomic_t& stop,
        DaemonPurpose purpose = DaemonPurpose::Measuring);
    TemporaryDaemon(const TemporaryDaemon&) = delete;
    TemporaryDaemon& operator=(const TemporaryDaemon&) = delete;
    ~TemporaryDaemon();

    // Watches these instead.
    [[nodiscard]] Status watch(const std::string& events);
    // What it has seen after this time.
    [[nodiscard]] Result<boost::json::object> status_after(std::chrono::nanoseconds time);
    // Records the machine for `event`, as long as its trace length says; the bundle.
    [[nodiscard]] Result<std::filesystem::path> record(const std::string& event);

    // What it answers to "status".
    [[nodiscard]] Result<boost::json::object> status() const;
    [[nodiscard]] std::filesystem::path socket() const { return folder_ / "control.sock"; }
    // An error, with what it said, if it has ended.
    [[nodiscard]] Status alive() const;

  private:
    TemporaryDaemon(const volatile std::sig_atomic_t& stop, DaemonPurpose purpose) : stop_(stop), purpose_(purpose) {}
    [[nodiscard]] Status write_settings(const std::string& events) const;
    // Asks for the status until `done(status)`.
    template <typename Done>
    [[nodiscard]] Result<boost::json::object> await(std::chrono::nanoseconds limit, const char* what, const Done& done);

    const volatile std::sig_atomic_t& stop_;
    const DaemonPurpose purpose_;
    std::filesystem::path folder_;
    std::unique_ptr<DaemonKeeper> keeper_;
};

}  // namespace lagtrap::cli
