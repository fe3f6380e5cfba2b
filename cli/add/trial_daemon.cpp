#include "cli/add/trial_daemon.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

constexpr auto start_limit = 120s;  // old kernels attach probes one by one, and the machine may be busy
constexpr auto merge_limit = 120s;
constexpr auto pause = 50ms;
constexpr std::size_t log_limit_bytes = 1 << 20;

// Of the same build or installation, else the one in PATH.
std::string find_daemon() {
    std::error_code ignored;
    const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path& candidate : {own / "../sbin/lagtrapd", own / "../daemon/lagtrapd", own / "lagtrapd"})
        if (::access(candidate.c_str(), X_OK) == 0) return fs::weakly_canonical(candidate, ignored).string();
    return "lagtrapd";
}

}  // namespace

Result<std::unique_ptr<TrialDaemon>> TrialDaemon::start(const std::string& events,
                                                        const volatile std::sig_atomic_t& stop) {
    std::unique_ptr<TrialDaemon> daemon(new TrialDaemon(stop));
    std::string name = (fs::temp_directory_path() / "lagtrap-add-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return system_error("making a folder for the trial");
    daemon->folder_ = name;
    TRY(daemon->write_settings(events));
    TRY(daemon->spawn());
    TRY(daemon->await(start_limit, "the events to be armed",
                      [](const auto& status) { return status.contains("arming") && status.at("arming").is_null(); }));
    return daemon;
}

TrialDaemon::~TrialDaemon() {
    if (pid_ > 0 && !gone_) {
        ::kill(pid_, SIGTERM);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Status TrialDaemon::write_settings(const std::string& events) const {
    return write_file_durably(
        folder_ / "settings.xml",
        fmt::format("<lagtrap version=\"1\">\n<recording cool-down=\"0s\" captures-per-hour=\"3600\"/>\n"
                    "<history length=\"0s\" early-share=\"0%\"/>\n<budget interval=\"500ms\" pause=\"1h\"/>\n"
                    "<spool path=\"{0}/spool\"/>\n<control socket=\"{0}/control.sock\"/>\n{1}</lagtrap>\n",
                    folder_.string(), events),
        0600);
}

namespace {

// In the child: ends with the owner.
[[noreturn]] void become_daemon(const std::string& program, const std::string& settings, const std::string& log,
                                pid_t owner) {
    // The limit is for reading recordings, not for the daemon.
    rlimit memory{};
    if (::getrlimit(RLIMIT_AS, &memory) == 0) {
        memory.rlim_cur = memory.rlim_max;
        ::setrlimit(RLIMIT_AS, &memory);
    }
    ::setpgid(0, 0);  // an interrupt of the terminal is for the owner, who ends it
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != owner) ::_exit(0);
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::unsetenv("NOTIFY_SOCKET");
    ::execlp(program.c_str(), program.c_str(), "--settings", settings.c_str(), static_cast<char*>(nullptr));
    ::dprintf(STDERR_FILENO, "%s cannot be started: %s", program.c_str(), std::strerror(errno));
    ::_exit(127);
}

}  // namespace

Status TrialDaemon::spawn() {
    const std::string program = find_daemon(), settings = (folder_ / "settings.xml").string(),
                      log = (folder_ / "log").string();
    const pid_t owner = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) return system_error("starting lagtrapd");
    if (pid_ == 0) become_daemon(program, settings, log, owner);
    return success();
}

Error TrialDaemon::ended() const {
    const auto log = read_file(folder_ / "log", log_limit_bytes);
    return make_error(ErrorKind::System,
                      "the lagtrapd of the trial ended: " + (log ? *log : std::string("it said nothing")));
}

Result<boost::json::object> TrialDaemon::status() const {
    return ask_daemon(folder_ / "control.sock", {{"command", "status"}});
}

template <typename Done>
Result<boost::json::object> TrialDaemon::await(std::chrono::nanoseconds limit, const char* what, const Done& done) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        if (stop_ != 0) return make_error(ErrorKind::Vanished, "interrupted");
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            gone_ = true;
            return ended();
        }
        auto answer = status();
        if (answer && done(*answer)) return answer;
        if (std::chrono::steady_clock::now() > end)
            return make_error(ErrorKind::Timeout,
                              fmt::format("gave up waiting for {}: this machine is too busy", what));
        std::this_thread::sleep_for(pause);
    }
}

Status TrialDaemon::watch(const std::string& events) {
    TRY_ASSIGN(const auto before, status());
    const std::uint64_t loaded_ns = number(part(before, "settings"), "loaded_realtime_ns");
    TRY(write_settings(events));
    if (::kill(pid_, SIGHUP) != 0) return system_error("telling the lagtrapd of the trial");
    TRY_ASSIGN(const auto after, await(start_limit, "the events to be armed", [&](const auto& status) {
                   const auto& settings = part(status, "settings");
                   return !text(settings, "reload_error").empty() ||
                          (number(settings, "loaded_realtime_ns") != loaded_ns && status.at("arming").is_null());
               }));
    const std::string refused = text(part(after, "settings"), "reload_error");
    return refused.empty() ? success() : Status(make_error(ErrorKind::Invalid, refused));
}

Result<boost::json::object> TrialDaemon::status_after(std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    return await(time + start_limit, "the trial", [&](const auto&) { return std::chrono::steady_clock::now() >= end; });
}

Result<fs::path> TrialDaemon::record(const std::string& event) {
    TRY(ask_daemon(folder_ / "control.sock", {{"command", "trigger"}, {"event", event}}));
    TRY_ASSIGN(const auto done, await(merge_limit, "the recording to be merged", [](const auto& status) {
                   return number(part(status, "captures"), "done") > 0 ||
                          number(part(status, "captures"), "failed") > 0;
               }));
    const std::string path = text(part(done, "last_bundle"), "path");
    if (path.empty()) return make_error(ErrorKind::System, "the recording of the trial failed");
    return fs::path(path);
}

}  // namespace lagtrap::cli
