#include "cli/add/add_write.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "core/files.hpp"
#include "settings/insertion.hpp"
#include "settings/parser.hpp"
#include "settings/schema.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto reload_limit = 30s;

}  // namespace

Status add_to_settings(const std::string& path, const std::string& elements) {
    std::error_code failed;
    const fs::path whole = fs::canonical(path, failed);  // keeps links
    if (failed) return system_error(path, failed.value());
    TRY_ASSIGN(const std::string before, read_file(whole, settings::file_bytes_limit));
    TRY_ASSIGN(const std::string after, settings::with_elements(before, elements, path));
    const auto outcome = settings::parse_settings(after, settings::BinaryCheck::Look);
    if (!outcome.ok())
        return make_error(ErrorKind::Invalid,
                          "the settings would have errors with the new elements:\n" +
                              settings::format_diagnostics(path, after, outcome.diagnostics));
    struct stat facts {};
    if (::stat(whole.c_str(), &facts) != 0) return system_error(path);
    TRY_ASSIGN(const std::string now, read_file(whole, settings::file_bytes_limit));
    if (now != before)
        return make_error(ErrorKind::Busy, path + " was changed by someone else; try again");
    TRY(write_file_durably(whole, after, facts.st_mode & 07777));
    if (facts.st_uid != ::geteuid() || facts.st_gid != ::getegid())
        if (::chown(whole.c_str(), facts.st_uid, facts.st_gid) != 0)
            return system_error("giving " + path + " its owner");
    return success();
}

Result<std::string> reload_daemon(const std::string& socket, const std::string& path) {
    const auto before = ask_daemon(socket, {{"command", "status"}});
    if (!before)
        return std::string(
            "lagtrapd is not running; start it with `systemctl enable --now lagtrapd`.");
    std::error_code ignored;
    const std::string read = text(part(*before, "settings"), "path");
    if (!fs::equivalent(read, path, ignored)) return "lagtrapd uses different settings: " + read;
    const std::uint64_t loaded_ns = number(part(*before, "settings"), "loaded_realtime_ns");
    if (::kill(static_cast<pid_t>(number(*before, "pid")), SIGHUP) != 0)
        return system_error("telling lagtrapd");
    const auto end = std::chrono::steady_clock::now() + reload_limit;
    while (std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(50ms);
        const auto status = ask_daemon(socket, {{"command", "status"}});
        if (!status) continue;
        const auto& settings = part(*status, "settings");
        const std::string refused = text(settings, "reload_error");
        if (!refused.empty() && refused != text(part(*before, "settings"), "reload_error"))
            return make_error(ErrorKind::Invalid, "lagtrapd rejected the settings:\n" + refused);
        if (number(settings, "loaded_realtime_ns") != loaded_ns && status->at("arming").is_null())
            return std::string("lagtrapd has reloaded it; `lagtrap status` shows the runs.");
    }
    return make_error(ErrorKind::Timeout,
                      "lagtrapd has not reloaded the settings within 30 s; see `lagtrap status`");
}

}  // namespace lagtrap::cli
