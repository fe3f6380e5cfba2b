// Watches an event for `lagtrap watch`, by the running daemon or by a temporary one.
#pragma once

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/daemons/temporary_daemon.hpp"
#include "cli/daemons/temporary_event.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// The event ends with this object, and with this process, however it ends.
class WatchSource {
  public:
    // Has the daemon behind `socket` watch `element`, one <event> or <use>. If there is none, or if
    // it refuses or is older, starts a temporary one, which needs root. Returns once the events are
    // armed or cannot be. Once `stop` is set, waits end with ErrorKind::Vanished.
    [[nodiscard]] static Result<std::unique_ptr<WatchSource>> start(
        const std::string& element, const std::filesystem::path& socket,
        const volatile std::sig_atomic_t& stop);

    // As TemporaryEvent::end().
    void end();

    // Why a daemon that runs is not used; empty if it is, or if none runs.
    [[nodiscard]] const std::string& why_temporary() const { return why_temporary_; }
    // The status of the daemon that watches the event, and only that.
    [[nodiscard]] Result<boost::json::object> status();
    // A path by which this process can read the newest bundle, whose path is `path` in the status.
    // It is valid until the next call.
    [[nodiscard]] Result<std::filesystem::path> bundle(const std::filesystem::path& path);

  private:
    WatchSource() = default;

    std::string why_temporary_;
    // One of these.
    std::optional<TemporaryEvent> event_;
    std::unique_ptr<TemporaryDaemon> own_;
};

}  // namespace lagtrap::cli
