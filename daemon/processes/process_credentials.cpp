#include "daemon/processes/process_credentials.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/core.h>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t status_limit_bytes = 64 * 1024;

// Removes the next number from the start of `text`. False if there is none.
template <typename Number>
bool take_number(std::string_view& text, Number& value, int base = 10) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return failure == std::errc{};
}

// The rest of the line after `label`, which must include the start of the line.
std::string_view line_after(std::string_view status, std::string_view label) {
    const std::size_t at = status.find(label);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = status.substr(at + label.size());
    return rest.substr(0, rest.find('\n'));
}

template <typename Numbers>
bool take_all(std::string_view text, Numbers& numbers) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&text](auto& number) { return take_number(text, number); });
}

}  // namespace

Result<ProcessCredentials> parse_process_credentials(std::string_view status) {
    ProcessCredentials process;
    std::string_view capabilities = line_after(status, "\nCapPrm:");
    if (!take_all(line_after(status, "\nUid:"), process.users) ||
        !take_all(line_after(status, "\nGid:"), process.groups) ||
        !take_number(capabilities, process.permitted_capabilities, 16))
        return make_error(ErrorKind::Invalid, "the process's status has no Uid, Gid or CapPrm");
    return process;
}

Result<ProcessCredentials> read_process_credentials(std::uint32_t pid) {
    const std::string folder = fmt::format("/proc/{}", pid);
    struct stat facts {};
    const auto status = read_file(folder + "/status", status_limit_bytes);
    if (!status || ::stat(folder.c_str(), &facts) != 0)
        return make_error(ErrorKind::Vanished, fmt::format("there is no process {}", pid));
    TRY_ASSIGN(ProcessCredentials process, parse_process_credentials(*status));
    process.folder_user = facts.st_uid;
    return process;
}

Status check_owner(const ProcessCredentials& process, uid_t user,
                   const std::vector<gid_t>& groups) {
    const auto denied = [user](const std::string& why) {
        return make_error(ErrorKind::Denied,
                          fmt::format("user {} may trace only their own processes, and this one {} "
                                      "(<control trace=...> in the settings)",
                                      user, why));
    };
    for (const uid_t one : process.users)
        if (one != user) return denied(fmt::format("runs as user {}", one));
    for (const gid_t one : process.groups)
        if (std::find(groups.begin(), groups.end(), one) == groups.end())
            return denied(fmt::format("has the group {}", one));
    if (process.permitted_capabilities != 0) return denied("has capabilities");
    if (process.folder_user != user) return denied("may not be read by its user");
    return success();
}

}  // namespace lagtrap::daemon
