#include "cli/doctor/service_findings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/control/status_fields.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"
#include "settings/values.hpp"

namespace lagtrap::cli {

namespace fs = std::filesystem;

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

Finding room_finding(const fs::path& place, std::uint64_t free_bytes, std::uint64_t limit_bytes) {
    const std::string found =
        fmt::format("{} free at {}; the spool may take {}", format_byte_size(free_bytes),
                    place.string(), format_byte_size(limit_bytes));
    if (free_bytes < (64ULL << 20))
        return {"room for recordings", Health::Missing, found,
                "free some space: a recording takes some megabytes", true};
    if (free_bytes < limit_bytes)
        return {"room for recordings", Health::Otherwise, found,
                "the disk may fill up before old bundles are deleted: lower <spool size-limit>",
                false};
    return {"room for recordings", Health::Works, found, {}, true};
}

Finding not_sending() {
    return {"sending", Health::Otherwise, "the settings have no <upload>",
            "bundles stay in the spool", false};
}

Finding sending_finding(const FolderCount& ready, const FolderCount& sent,
                        const FolderCount& rejected, fs::file_time_type now) {
    std::string found = "nothing sent yet";
    if (sent.newest) {
        const auto ago = now - *sent.newest;
        found = fmt::format("last sent {} ago",
                            format_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::max(ago, fs::file_time_type::duration::zero()))));
    }
    found += fmt::format("; {} waiting, {} rejected", ready.entries, rejected.entries);
    if (rejected.entries > 0)
        return {"sending", Health::Otherwise, found, "see rejected/*.reason in the spool", false};
    return {"sending", Health::Works, found, {}, false};
}

Finding daemon_finding(const Result<boost::json::object>& answer) {
    if (!answer && answer.error().kind == ErrorKind::Denied)
        return {"daemon", Health::Unknown, answer.error().message, {}, false};
    if (!answer) return {"daemon", Health::Missing, answer.error().message, {}, false};
    std::size_t armed = 0, disabled = 0, off = 0;
    for (const auto& value : list(*answer, "events")) {
        if (!value.is_object()) continue;
        const auto& event = value.as_object();
        ++(truth(event, "armed") || (truth(event, "disabled") && !is_disabled(event)) ? armed
           : truth(event, "disabled")                                                 ? disabled
                                                                                      : off);
    }
    const std::string found =
        fmt::format("running, process {}: {} events armed, {} disabled by the budget, {} off",
                    number(*answer, "pid"), armed, disabled, off);
    if (disabled + off > 0)
        return {"daemon", Health::Otherwise, found, "`lagtrap status` says why", false};
    return {"daemon", Health::Works, found, {}, false};
}

Finding reader_finding(const boost::json::object& answer) {
    const auto& reader = part(answer, "file_reader");
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

std::string port_of(const std::string& address) {
    const std::size_t begin = address.find("://") + 3;
    const std::string authority = address.substr(begin, address.find('/', begin) - begin);
    const std::size_t colon = authority.rfind(':');
    if (colon != std::string::npos && authority.find(']', colon) == std::string::npos)
        return authority.substr(colon + 1);
    return address.starts_with("https") ? "443" : address.starts_with("socks") ? "1080" : "80";
}

}  // namespace lagtrap::cli
