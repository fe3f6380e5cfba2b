#include "cli/daemons/recording_source.hpp"

#include <unistd.h>

#include <optional>
#include <thread>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/bundles/bundle_finder.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/daemons/daemon_program.hpp"

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

// True if there is a daemon that watches events and can record now.
bool is_free(const Result<json::object>& status) {
    return status && part(*status, "capture").empty() && !list(*status, "events").empty();
}

// The daemon's next line, an object with "ok":true.
Result<json::object> next_answer(DaemonLines& lines, const volatile std::sig_atomic_t& stop) {
    TRY_ASSIGN(const auto line, lines.next(answer_limit_bytes, stop));
    if (!line)
        return make_error(ErrorKind::Vanished, stop != 0 ? "interrupted" : "lagtrapd has exited");
    boost::system::error_code failure;
    const json::value answer = json::parse(*line, failure);
    if (failure || !answer.is_object())
        return make_error(ErrorKind::Invalid, "lagtrapd's answer is not a JSON object");
    if (truth(answer.as_object(), "ok")) return answer.as_object();
    return make_error(ErrorKind::System,
                      "the recording failed: " + text(answer.as_object(), "error"));
}

// A bundle is in SPOOL/ready, sending, sent or rejected.
std::filesystem::path spool_of(const std::string& bundle) {
    return std::filesystem::path(bundle).parent_path().parent_path();
}

}  // namespace

Result<std::unique_ptr<RecordingSource>> RecordingSource::find(
    const std::filesystem::path& socket, const volatile std::sig_atomic_t& stop) {
    const bool is_root = ::geteuid() == 0;
    if (is_root)
        if (auto running = with_running_daemon(socket, stop)) return running;
    std::unique_ptr<RecordingSource> source(new RecordingSource(stop));
    source->socket_ = socket;
    TRY(is_root ? source->start_own() : source->start_event());
    return source;
}

std::unique_ptr<RecordingSource> RecordingSource::with_running_daemon(
    const std::filesystem::path& socket, const volatile std::sig_atomic_t& stop) {
    if (!is_free(ask_daemon(socket, {{"command", "status"}}))) return nullptr;
    std::unique_ptr<RecordingSource> source(new RecordingSource(stop));
    source->socket_ = socket;
    return source;
}

Status RecordingSource::start_own() {
    TRY_ASSIGN(own_, TemporaryDaemon::start(find_daemon(), event_of_recordings(), stop_));
    socket_ = own_->socket();
    return success();
}

// Without root, a recording of the daemon itself could be started but not read.
Status RecordingSource::start_event() {
    event_.emplace(stop_);
    const Status started = event_->start(event_of_recordings(), socket_);
    if (started || stop_ != 0) return started;
    return make_error(ErrorKind::Denied,
                      started.error().kind == ErrorKind::NotFound
                          ? "recording the machine needs root; try sudo"
                          : "recording the machine needs root, or the running lagtrapd: " +
                                started.error().message);
}

Result<json::object> RecordingSource::ask(const json::object& request) {
    TRY(alive());
    return event_ ? event_->ask(request) : ask_daemon(socket_, request);
}

// The daemon may be older than this command, or may have begun another recording meanwhile.
Status RecordingSource::begin(std::chrono::nanoseconds length) {
    if (!own_ && !event_) {
        if (begin_with_daemon(length)) return success();
        lines_.reset();
        TRY(start_own());
    }
    TRY_ASSIGN(const auto begun,
               ask({{"command", "trigger"}, {"event", "look"}, {"length_ns", length.count()}}));
    session_ = text(begun, "session");
    return success();
}

Status RecordingSource::begin_with_daemon(std::chrono::nanoseconds length) {
    TRY_ASSIGN(auto lines,
               DaemonLines::ask(socket_, {{"command", "record"}, {"length_ns", length.count()}}));
    lines_.emplace(std::move(lines));
    TRY_ASSIGN(const json::object begun, next_answer(*lines_, stop_));
    session_ = text(begun, "session");
    return success();
}

void RecordingSource::finish() {
    if (lines_) return (void)lines_->say_enough();
    (void)ask({{"command", "finish"}, {"session", session_}});
}

void RecordingSource::pause() { std::this_thread::sleep_for(look_interval); }

Result<bool> RecordingSource::has_ended() {
    TRY_ASSIGN(const auto status, ask({{"command", "status"}}));
    return text(part(status, "capture"), "session") != session_ && part(status, "capture").empty();
}

Result<std::filesystem::path> RecordingSource::bundle_of_daemon() {
    constexpr std::sig_atomic_t never = 0;  // the recording has ended; its bundle follows soon
    TRY_ASSIGN(const json::object answer, next_answer(*lines_, never));
    return std::filesystem::path(text(answer, "bundle"));
}

Result<std::filesystem::path> RecordingSource::bundle_in(const json::object& status) {
    const auto& last = part(status, "last_bundle");
    std::filesystem::path path = text(last, "path");
    const bool is_own = text(last, "session") == session_;
    if (event_) return is_own ? event_->bundle() : std::filesystem::path();
    if (is_own && std::filesystem::exists(path)) return path;
    // The bundle may already have been sent, or another bundle may have followed it.
    if (!path.empty())
        if (auto found = find_bundle(session_, spool_of(path))) return found;
    return std::filesystem::path();
}

Result<std::filesystem::path> RecordingSource::bundle() {
    if (lines_) return bundle_of_daemon();
    const auto end = std::chrono::steady_clock::now() + bundle_limit;
    for (;; pause()) {
        TRY_ASSIGN(const auto status, ask({{"command", "status"}}));
        TRY_ASSIGN(auto found, bundle_in(status));
        if (!found.empty()) return found;
        if (number(part(status, "captures"), "waiting") == 0 && part(status, "capture").empty())
            return make_error(ErrorKind::System, "the recording failed");
        if (std::chrono::steady_clock::now() > end)
            return make_error(
                ErrorKind::Timeout,
                "the recording was not ready after ten minutes; this machine is too busy");
    }
}

}  // namespace lagtrap::cli
