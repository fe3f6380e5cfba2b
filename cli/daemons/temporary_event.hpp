// An event that the running daemon watches for this process.
#pragma once

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/control/daemon_link.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

// The event ends with this object, and with this process, however it ends. It needs the right to
// trace.
class TemporaryEvent {
  public:
    // Once `stop` is set, waits end with ErrorKind::Vanished.
    explicit TemporaryEvent(const volatile std::sig_atomic_t& stop) : stop_(stop) {}

    // Has the daemon behind `socket` watch `element`, one <event> or <use>. Returns once its events
    // are armed or cannot be.
    [[nodiscard]] Status start(const std::string& element, const std::filesystem::path& socket);
    // Whether the daemon took the event, which may fail later.
    [[nodiscard]] bool is_accepted() const { return is_accepted_; }
    // What the lagtrapd that watches the event, and only that, answers.
    [[nodiscard]] Result<boost::json::object> ask(const boost::json::object& request);
    // A path by which this process can read the newest bundle. It is valid until the next call.
    [[nodiscard]] Result<std::filesystem::path> bundle();
    // Waits until the event has ended, so that it takes nothing from the limits of the next one.
    void end();

  private:
    const volatile std::sig_atomic_t& stop_;
    std::optional<DaemonLink> link_;
    bool is_accepted_ = false;
    UniqueFd bundle_;
};

}  // namespace lagtrap::cli
