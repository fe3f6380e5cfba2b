// A lagtrapd of one's own, for some seconds: it measures events before they are in the settings, beside the one that runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::cli {

// Its settings, socket and spool are in a folder of their own, which goes with it; it ends when its owner does. Needs root.
class TrialDaemon {
  public:
    // `events` are elements of the settings. Returns when they are armed, or were found not to be armable. Waits end early,
    // with ErrorKind::Vanished, once `stop` is set.
    [[nodiscard]] static Result<std::unique_ptr<TrialDaemon>> start(const std::string& events,
                                                                    const volatile std::sig_atomic_t& stop);
    TrialDaemon(const TrialDaemon&) = delete;
    TrialDaemon& operator=(const TrialDaemon&) = delete;
    ~TrialDaemon();

    // Watches these instead.
    [[nodiscard]] Status watch(const std::string& events);
    // What it has seen after this time.
    [[nodiscard]] Result<boost::json::object> status_after(std::chrono::nanoseconds time);
    // Records the machine for `event`, as long as its trace length says; the bundle.
    [[nodiscard]] Result<std::filesystem::path> record(const std::string& event);

  private:
    explicit TrialDaemon(const volatile std::sig_atomic_t& stop) : stop_(stop) {}
    [[nodiscard]] Status write_settings(const std::string& events) const;
    [[nodiscard]] Status spawn();
    [[nodiscard]] Result<boost::json::object> status() const;
    // Asks for the status until `done(status)`.
    template <typename Done>
    [[nodiscard]] Result<boost::json::object> await(std::chrono::nanoseconds limit, const char* what, const Done& done);
    [[nodiscard]] Error ended() const;

    const volatile std::sig_atomic_t& stop_;
    std::filesystem::path folder_;
    pid_t pid_ = -1;
    bool gone_ = false;
};

}  // namespace lagtrap::cli
