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
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/machine_root.hpp"
#include "settings/parser.hpp"
#include "settings/values.hpp"
#include "spool/spool.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto server_wait = std::chrono::seconds(5);
constexpr std::size_t processes_limit = 1U << 20;
constexpr std::size_t entries_limit = 100'000;

Finding settings_finding(const std::string& file, const settings::ParseOutcome& outcome) {
    const std::string events = fmt::format("{}: {} events", file, outcome.settings.events.size());
    if (outcome.ok() && !outcome.notes.empty())
        return {"settings", Health::Unknown,
                fmt::format("{}; {} of their markers or files could not be checked", events,
                            outcome.notes.size()),
                "run `lagtrap doctor` as root", true};
    if (outcome.ok()) return {"settings", Health::Works, events, {}, true};
    std::error_code failure;
    if (!fs::exists(file, failure))
        return {"settings", Health::Missing, file + " does not exist",
                "create it, or use --settings", true};
    if (::access(file.c_str(), R_OK) != 0 && errno == EACCES)
        return {"settings", Health::Unknown, "no permission to read " + file,
                "run `lagtrap doctor` as root", true};
    const settings::Diagnostic& first = outcome.diagnostics.front();
    return {"settings", Health::Missing,
            fmt::format("{}:{}:{}: {} ({} in total)", file, first.line, first.column,
                        printable(first.found), outcome.diagnostics.size()),
            "`lagtrap check` shows every error and how to fix it", true};
}

Finding files_finding(const settings::ParseOutcome& outcome) {
    const char* const name = "watched files";
    if (outcome.warnings.empty())
        return {
            name, Health::Works, "only root and the owners can change or replace them", {}, false};
    return {
        name, Health::Otherwise,
        fmt::format("{} ({} in total)", printable(outcome.warnings.front().text),
                    outcome.warnings.size()),
        "they are still watched; remove write permission for others from the file or its folder",
        false};
}

// The nearest existing folder, from `path` upwards.
fs::path existing(fs::path path) {
    std::error_code failure;
    while (!fs::exists(path, failure) && path.has_relative_path()) path = path.parent_path();
    return path;
}

Finding room_finding(const settings::Settings& settings) {
    const fs::path place = existing(settings.spool.path);
    struct statvfs facts {};
    if (::statvfs(place.c_str(), &facts) != 0)
        return {"room for recordings",
                Health::Unknown,
                place.string() + ": " + std::strerror(errno),
                {},
                false};
    const std::uint64_t free_bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
    const std::string found =
        fmt::format("{} free at {}; the spool may take {}", format_byte_size(free_bytes),
                    place.string(), format_byte_size(settings.spool.size_limit_bytes));
    if (free_bytes < (64ULL << 20))
        return {"room for recordings", Health::Missing, found,
                "free some space: a recording takes some megabytes", true};
    if (free_bytes < settings.spool.size_limit_bytes)
        return {"room for recordings", Health::Otherwise, found,
                "the disk may fill up before old bundles are deleted: lower <spool size-limit>",
                false};
    return {"room for recordings", Health::Works, found, {}, true};
}

struct FolderCount {
    std::size_t entries = 0;
    std::optional<fs::file_time_type> newest;
    bool readable = false;
};

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
    if (!settings.upload)
        return {"sending", Health::Otherwise, "the settings have no <upload>",
                "bundles stay in the spool", false};
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
    std::string found = "nothing sent yet";
    if (sent.newest) {
        const auto ago = fs::file_time_type::clock::now() - *sent.newest;
        found = fmt::format("last sent {} ago",
                            format_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::max(ago, fs::file_time_type::duration::zero()))));
    }
    found += fmt::format("; {} waiting, {} rejected", ready.entries, rejected.entries);
    if (rejected.entries > 0)
        return {"sending", Health::Otherwise, found, "see rejected/*.reason in the spool", false};
    return {"sending", Health::Works, found, {}, false};
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

// The unprivileged processes that read other users' files for the daemon.
Finding reader_finding(const Result<boost::json::object>& answer) {
    if (!answer) return reader_of_disk();
    const auto& reader = part(*answer, "file_reader");
    if (const std::string problem = text(reader, "problem"); !problem.empty())
        return {"reader of files", Health::Missing, problem,
                "reinstall lagtrapd; the daemon retries by itself", true};
    if (truth(reader, "as_root"))
        return {"reader of files", Health::Otherwise,
                "runs as root, without capabilities and with a system call filter",
                "give the daemon CAP_SETUID and CAP_SETGID, so that it can use a separate user",
                true};
    return {"reader of files",
            Health::Works,
            fmt::format("runs as user {}, without capabilities", number(reader, "user")),
            {},
            true};
}

Finding daemon_finding(const Result<boost::json::object>& answer) {
    if (!answer && answer.error().kind == ErrorKind::Denied)
        return {"daemon", Health::Unknown, answer.error().message, {}, false};
    if (!answer) return {"daemon", Health::Missing, answer.error().message, {}, false};
    std::size_t armed = 0, shed = 0, off = 0;
    for (const auto& value : list(*answer, "events")) {
        if (!value.is_object()) continue;
        const auto& event = value.as_object();
        ++(truth(event, "armed") || (truth(event, "shed") && !is_shed(event)) ? armed
           : truth(event, "shed")                                             ? shed
                                                                              : off);
    }
    const std::string found =
        fmt::format("running, process {}: {} events armed, {} disabled by the budget, {} off",
                    number(*answer, "pid"), armed, shed, off);
    if (shed + off > 0)
        return {"daemon", Health::Otherwise, found, "`lagtrap status` says why", false};
    return {"daemon", Health::Works, found, {}, false};
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

std::string port_of(const std::string& address) {
    const std::size_t begin = address.find("://") + 3;
    const std::string authority = address.substr(begin, address.find('/', begin) - begin);
    const std::size_t colon = authority.rfind(':');
    if (colon != std::string::npos && authority.find(']', colon) == std::string::npos)
        return authority.substr(colon + 1);
    return address.starts_with("https") ? "443" : address.starts_with("socks") ? "1080" : "80";
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
                                  room_finding(outcome.settings),
                                  daemon_finding(daemon),
                                  reader_finding(daemon),
                                  uploader_finding(places.root, outcome.settings),
                                  upload_finding(outcome.settings)};
    if (places.ask_server) findings.push_back(server_finding(outcome.settings));
    findings.push_back(debug_files(places.root));
    return findings;
}

}  // namespace lagtrap::cli
