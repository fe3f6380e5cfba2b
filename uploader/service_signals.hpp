// Signals that end the service or make it read its settings again, and the watchdog of systemd.
#pragma once

#include <chrono>
#include <optional>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::uploader {

// Not thread-safe.
class ServiceSignals {
  public:
    // Time to finish a transfer after SIGTERM or SIGINT.
    static constexpr std::chrono::seconds grace{10};
    static constexpr std::chrono::seconds watchdog_interval{5};

    // Block SIGTERM, SIGINT and SIGHUP before.
    [[nodiscard]] static Result<ServiceSignals> open();

    // Takes pending signals and resets the watchdog. False once the grace period is over.
    [[nodiscard]] bool keep_going();
    [[nodiscard]] bool stop_requested() const { return stop_requested_at_.has_value(); }
    [[nodiscard]] bool reload_requested() const { return reload_requested_; }
    void note_reload() { reload_requested_ = false; }
    // Readable if signals are pending.
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit ServiceSignals(UniqueFd fd) : fd_(std::move(fd)) {}
    void take();

    UniqueFd fd_;
    std::optional<TimePoint> stop_requested_at_;
    bool reload_requested_ = false;
    TimePoint last_watchdog_{};
};

}  // namespace lagtrap::uploader
