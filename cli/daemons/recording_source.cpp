#include "cli/daemons/recording_source.hpp"

#include <unistd.h>

#include <optional>
#include <thread>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/bundles/bundle_finder.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto bundle_limit = 10min;  // the daemon's default merge limit
constexpr auto look_interval = 50ms;

// An event that never occurs, because a recording needs an event.
std::string event_of_recordings() {
    return fmt::format(
        "<event name=\"look\" threshold=\"1h\" trace-length=\"1s\"><scope pid=\"{}\"/><begin "
        "tracepoint=\"syscalls:sys_enter_sync\"/>"
        "<end tracepoint=\"syscalls:sys_exit_sync\"/></event>\n",
        ::getpid());
}

// Any of the daemon's events, if the daemon can record now.
std::optional<std::string> free_event(const Result<json::object>& status) {
    if (!status || !part(*status, "capture").empty()) return std::nullopt;
    for (const auto& event : list(*status, "events"))
        if (event.is_object()) return text(event.as_object(), "name");
    return std::nullopt;
}

// A bundle is in SPOOL/ready, sending, sent or rejected.
std::filesystem::path spool_of(const std::string& bundle) {
    return std::filesystem::path(bundle).parent_path().parent_path();
}

}  // namespace

Result<std::unique_ptr<RecordingSource>> RecordingSource::find(const std::filesystem::path& socket,
                                                               const volatile std::sig_atomic_t& stop) {
    std::unique_ptr<RecordingSource> source(new RecordingSource());
    // Without root, a recording could be started but not read.
    if (::geteuid() != 0) return make_error(ErrorKind::Denied, "recording the machine needs root; try sudo");
    if (const auto event = free_event(ask_daemon(socket, {{"command", "status"}}))) {
        source->socket_ = socket;
        source->event_ = *event;
        return source;
    }
    TRY_ASSIGN(source->own_, TemporaryDaemon::start(event_of_recordings(), stop));
    source->socket_ = source->own_->socket();
    source->event_ = "look";
    return source;
}

Status RecordingSource::begin(std::chrono::nanoseconds length) {
    TRY_ASSIGN(const auto begun,
               ask_daemon(socket_, {{"command", "trigger"}, {"event", event_}, {"length_ns", length.count()}}));
    session_ = text(begun, "session");
    return success();
}

void RecordingSource::finish() { (void)ask_daemon(socket_, {{"command", "finish"}, {"session", session_}}); }

void RecordingSource::pause() { std::this_thread::sleep_for(look_interval); }

Result<bool> RecordingSource::has_ended() const {
    TRY(alive());
    TRY_ASSIGN(const auto status, ask_daemon(socket_, {{"command", "status"}}));
    return text(part(status, "capture"), "session") != session_ && part(status, "capture").empty();
}

Result<std::filesystem::path> RecordingSource::bundle() {
    const auto end = std::chrono::steady_clock::now() + bundle_limit;
    for (std::string seen;; pause()) {
        TRY(alive());
        TRY_ASSIGN(const auto status, ask_daemon(socket_, {{"command", "status"}}));
        const auto& last = part(status, "last_bundle");
        if (!text(last, "path").empty()) seen = text(last, "path");
        if (text(last, "session") == session_ && std::filesystem::exists(seen)) return std::filesystem::path(seen);
        // The bundle may already have been sent, or another bundle may have followed it.
        if (!seen.empty())
            if (auto found = find_bundle(session_, spool_of(seen))) return found;
        if (number(part(status, "captures"), "waiting") == 0 && part(status, "capture").empty())
            return make_error(ErrorKind::System, is_temporary() ? "the recording failed"
                                                                : "the recording failed; the daemon's log says why "
                                                                  "(journalctl -u lagtrapd)");
        if (std::chrono::steady_clock::now() > end)
            return make_error(ErrorKind::Timeout,
                              "the recording was not ready after ten minutes; this machine is too busy");
    }
}

}  // namespace lagtrap::cli
