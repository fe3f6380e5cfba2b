#include "daemon/temporary/temporary_log.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t reason_limit_bytes = 1000;

std::string without(std::string line, const std::string& part) {
    for (std::size_t at = 0; (at = line.find(part)) != std::string::npos;)
        line.erase(at, part.size());
    return line;
}

// The message in a line; empty if it is no error.
std::string error_in(std::string_view line) {
    constexpr std::string_view mark = " error: ";
    constexpr std::size_t time_bytes = 23;  // 2026-11-29T10:26:40.230
    const bool is_logged = line.size() > time_bytes && line[4] == '-' && line[10] == 'T';
    if (!is_logged) return line.starts_with(' ') ? std::string() : std::string(line);
    const std::string_view message = line.substr(time_bytes);
    return message.starts_with(mark) ? std::string(message.substr(mark.size())) : std::string();
}

}  // namespace

std::string reason_in_log(std::string_view log, const std::filesystem::path& folder) {
    std::string reason;
    while (!log.empty()) {
        const std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(log.size(), line.size() + 1));
        const std::string error = without(error_in(line), (folder / "settings.xml:").string());
        if (!error.empty()) reason += (reason.empty() ? "" : "; ") + printable(error);
    }
    if (reason.empty()) return "lagtrapd ended without a message";
    return reason.substr(reason.size() - std::min(reason.size(), reason_limit_bytes));
}

}  // namespace lagtrap::daemon
