#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "binaries/reader/file_reader.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/doctor/doctor_findings.hpp"
#include "cli/doctor/service_findings.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/machine_root.hpp"
#include "settings/parser.hpp"
#include "settings/url.hpp"
#include "spool/spool.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto server_wait = std::chrono::seconds(5);
constexpr std::size_t processes_limit = 1U << 20;
constexpr std::size_t entries_limit = 100'000;

// The nearest existing folder, from `path` upwards.
fs::path existing(fs::path path) {
    std::error_code failure;
    while (!fs::exists(path, failure) && path.has_relative_path()) path = path.parent_path();
    return path;
}

Finding room_at(const settings::Settings& settings) {
    const fs::path place = existing(settings.spool.path);
    struct statvfs facts {};
    if (::statvfs(place.c_str(), &facts) != 0)
        return {"room for recordings",
                Health::Unknown,
                place.string() + ": " + std::strerror(errno),
                {},
                false};
    return room_finding(place, std::uint64_t{facts.f_bavail} * facts.f_frsize,
                        settings.spool.size_limit_bytes);
}

FolderCount count_entries(const fs::path& folder) {
    FolderCount count;
    std::error_code failure;
    fs::directory_iterator entry(folder, failure);
    count.readable = !failure;
    for (; !failure && entry != fs::directory_iterator() && count.entries < entries_limit;
         entry.increment(failure)) {
        if (!spool::parse_entry_name(entry->path().filename().string())) continue;
        ++count.entries;
        std::error_code unknown;
        const auto written = entry->last_write_time(unknown);
        if (!unknown && (!count.newest || written > *count.newest)) count.newest = written;
    }
    return count;
}

Finding upload_finding(const settings::Settings& settings) {
    if (!settings.upload) return not_sending();
    const fs::path spool = settings.spool.path;
    const FolderCount ready = count_entries(spool / "ready"), sent = count_entries(spool / "sent"),
                      rejected = count_entries(spool / "rejected");
    if (!ready.readable || !sent.readable) {
        std::error_code failure;
        if (!fs::exists(spool, failure) && !failure)
            return {"sending", Health::Otherwise, "the spool does not exist yet",
                    "the daemon creates it", false};
        return {"sending", Health::Unknown, "no permission to read the spool " + spool.string(),
                "run as root or join the group lagtrap", false};
    }
    return sending_finding(ready, sent, rejected, fs::file_time_type::clock::now());
}

Finding uploader_finding(const fs::path& root, const settings::Settings& settings) {
    if (!settings.upload)
        return {"uploader", Health::Otherwise, "not needed without <upload>", {}, false};
    std::error_code failure;
    std::size_t seen = 0;
    for (fs::directory_iterator entry(root / "proc", failure), end;
         !failure && entry != end && ++seen < processes_limit; entry.increment(failure)) {
        const auto name = read_file(entry->path() / "comm", 64);
        // The kernel truncates names to 15 bytes.
        if (name && name->starts_with("lagtrap-uploade"))
            return {"uploader",
                    Health::Works,
                    "running, process " + entry->path().filename().string(),
                    {},
                    false};
    }
    return {"uploader", Health::Missing, "not running", "systemctl enable --now lagtrap-uploader",
            false};
}

Finding reader_of_disk() {
    const std::string program = binaries::find_reader_program("");
    if (program.empty())
        return {"reader of files", Health::Missing, "lagtrap-reader is not installed",
                "it is part of lagtrapd", false};
    if (::access(program.c_str(), X_OK) != 0)
        return {"reader of files", Health::Missing, program + ": " + std::strerror(errno),
                "reinstall lagtrapd", false};
    return {
        "reader of files", Health::Unknown, program + " exists; the daemon starts it", {}, false};
}

Finding reader_of(const Result<boost::json::object>& answer) {
    return answer ? reader_finding(*answer) : reader_of_disk();
}

Finding debug_files(const fs::path& root) {
    const char* const servers = std::getenv("DEBUGINFOD_URLS");
    std::error_code failure;
    const bool folder =
        fs::exists(root / on_machine("/usr/lib/debug/.build-id").relative_path(), failure);
    if (folder) return {"debug files", Health::Works, "found in /usr/lib/debug", {}, false};
    if (servers != nullptr && *servers != '\0')
        return {"debug files",
                Health::Works,
                "`lagtrap symbolize --debuginfod` can ask the servers in DEBUGINFOD_URLS",
                {},
                false};
    return {"debug files", Health::Otherwise,
            "none installed: stripped programs have no function names",
            "install -dbgsym packages, or add names later with `lagtrap symbolize`", false};
}

// Checks that something listens there.
Status connect_to(const std::string& host, const std::string& port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); failed != 0)
        return make_error(ErrorKind::NotFound,
                          fmt::format("cannot resolve {}: {}", host, ::gai_strerror(failed)));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
    int number = ETIMEDOUT;
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        const UniqueFd fd(
            ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd.valid()) continue;
        if (::connect(fd.get(), address->ai_addr, address->ai_addrlen) == 0) return success();
        number = errno;
        pollfd waiting{fd.get(), POLLOUT, 0};
        if (number != EINPROGRESS) continue;
        number = ETIMEDOUT;
        if (::poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(server_wait).count())) !=
            1)
            continue;
        socklen_t size = sizeof(number);
        if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &number, &size) == 0 && number == 0)
            return success();
    }
    return system_error(fmt::format("{} port {}", host, port), number);
}

Finding server_finding(const settings::Settings& settings) {
    if (!settings.upload)
        return {"server", Health::Otherwise, "the settings have no <upload>", {}, false};
    const bool by_proxy = !settings.upload->proxy.empty();
    const std::string& address = by_proxy ? settings.upload->proxy : settings.upload->url;
    const auto connected = connect_to(settings::host_of_url(address), port_of(address));
    const std::string what = by_proxy ? "the proxy " : "";
    if (!connected)
        return {"server", Health::Missing, what + printable(connected.error().message),
                "check <upload>, the network and the server; `lagtrap upload` tests all of it",
                false};
    return {"server",
            Health::Works,
            what + address + " accepts connections; `lagtrap upload` tests certificate and token",
            {},
            false};
}

}  // namespace

std::vector<Finding> service_findings(const DoctorPlaces& places) {
    const auto outcome = settings::load_settings(places.settings, settings::BinaryCheck::Look);
    const auto daemon = ask_daemon(places.socket, {{"command", "status"}});
    std::vector<Finding> findings{settings_finding(places.settings, outcome),
                                  files_finding(outcome),
                                  room_at(outcome.settings),
                                  daemon_finding(daemon),
                                  reader_of(daemon),
                                  uploader_finding(places.root, outcome.settings),
                                  upload_finding(outcome.settings)};
    if (places.ask_server) findings.push_back(server_finding(outcome.settings));
    findings.push_back(debug_files(places.root));
    return findings;
}

}  // namespace lagtrap::cli
