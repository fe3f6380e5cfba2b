#include "cli/daemons/temporary_daemon.hpp"

#include <unistd.h>

#include <cstdlib>
#include <thread>

#include <fmt/core.h>

#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "core/files.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// old kernels attach probes one by one, and the machine may be busy
constexpr auto start_limit = 120s;
constexpr auto merge_limit = 120s;
constexpr auto pause = 50ms;
constexpr std::size_t log_limit_bytes = 1 << 20;

}  // namespace

bool is_armed(const boost::json::object& status) {
    const auto* const arming = status.if_contains("arming");
    const auto* const processes_found = status.if_contains("processes_found");
    return arming && arming->is_null() && processes_found && processes_found->is_bool() &&
           processes_found->get_bool();
}

Result<std::unique_ptr<TemporaryDaemon>> TemporaryDaemon::start(
    const std::string& program, const std::string& events, const volatile std::sig_atomic_t& stop,
    DaemonPurpose purpose) {
    std::unique_ptr<TemporaryDaemon> daemon(new TemporaryDaemon(stop, purpose));
    std::string name = (fs::temp_directory_path() / "lagtrap-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        return system_error("making a folder for a temporary lagtrapd");
    daemon->folder_ = name;
    TRY(daemon->write_settings(events));
    TRY_ASSIGN(daemon->keeper_, DaemonKeeper::start(program, name + "/settings.xml", name + "/log",
                                                    daemon->folder_));
    TRY(daemon->await(start_limit, "the events to be armed", is_armed));
    return daemon;
}

TemporaryDaemon::~TemporaryDaemon() {
    std::error_code ignored;
    if (!keeper_ && !folder_.empty()) fs::remove_all(folder_, ignored);
}

Status TemporaryDaemon::write_settings(const std::string& events) const {
    const char* const own = purpose_ == DaemonPurpose::Measuring
                                ? "<history length=\"0s\" early-share=\"0%\"/>\n<budget "
                                  "interval=\"500ms\" pause=\"1h\"/>\n"
                                  "<runs batch-interval=\"500ms\"/>\n"
                                : "";
    return write_file_durably(
        folder_ / "settings.xml",
        fmt::format(
            "<lagtrap version=\"1\">\n<recording cool-down=\"0s\" captures-per-hour=\"3600\"/>\n{1}"
            "<spool path=\"{0}/spool\"/>\n<control socket=\"{0}/control.sock\"/>\n{2}</lagtrap>\n",
            folder_.string(), own, events),
        0600);
}

Status TemporaryDaemon::alive() const {
    if (!keeper_->daemon_has_ended()) return success();
    const auto log = read_file(folder_ / "log", log_limit_bytes);
    return make_error(ErrorKind::System,
                      "the temporary lagtrapd exited: " +
                          (log && !log->empty() ? *log : std::string("without a message")));
}

Result<boost::json::object> TemporaryDaemon::status() const {
    return ask_daemon(socket(), {{"command", "status"}});
}

template <typename Done>
Result<boost::json::object> TemporaryDaemon::await(std::chrono::nanoseconds limit, const char* what,
                                                   const Done& done) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        if (stop_ != 0) return make_error(ErrorKind::Vanished, "interrupted");
        TRY(alive());
        auto answer = status();
        if (answer && done(*answer)) return answer;
        if (std::chrono::steady_clock::now() > end)
            return make_error(
                ErrorKind::Timeout,
                fmt::format("gave up waiting for {}: this machine is too busy", what));
        std::this_thread::sleep_for(pause);
    }
}

Status TemporaryDaemon::watch(const std::string& events) {
    TRY_ASSIGN(const auto before, status());
    const std::uint64_t loaded_ns = number(part(before, "settings"), "loaded_realtime_ns");
    TRY(write_settings(events));
    TRY(keeper_->reload());
    TRY_ASSIGN(const auto after,
               await(start_limit, "the events to be armed", [&](const auto& status) {
                   const auto& settings = part(status, "settings");
                   return !text(settings, "reload_error").empty() ||
                          (number(settings, "loaded_realtime_ns") != loaded_ns && is_armed(status));
               }));
    const std::string refused = text(part(after, "settings"), "reload_error");
    return refused.empty() ? success() : Status(make_error(ErrorKind::Invalid, refused));
}

Result<boost::json::object> TemporaryDaemon::status_after(std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    return await(time + start_limit, "the trial",
                 [&](const auto&) { return std::chrono::steady_clock::now() >= end; });
}

Result<fs::path> TemporaryDaemon::record(const std::string& event) {
    TRY(ask_daemon(socket(), {{"command", "trigger"}, {"event", event}}));
    TRY_ASSIGN(const auto done,
               await(merge_limit, "the recording to be merged", [](const auto& status) {
                   return number(part(status, "captures"), "done") > 0 ||
                          number(part(status, "captures"), "failed") > 0;
               }));
    const std::string path = text(part(done, "last_bundle"), "path");
    if (path.empty()) return make_error(ErrorKind::System, "the recording failed");
    return fs::path(path);
}

}  // namespace lagtrap::cli
