#include "daemon/processes/foreign_files.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "daemon/processes/process_party.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t start_field = 22;  // in /proc/PID/stat, counted from 1 (proc(5))

std::vector<std::string_view> split(std::string_view text, std::string_view blanks = " \t") {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
        text.remove_prefix(begin);
        if (text.empty()) return words;
        const std::size_t end = std::min(text.find_first_of(blanks), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

Result<std::uint64_t> number(std::string_view text, std::string_view what) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size())
        return make_error(ErrorKind::Invalid,
                          std::string(what) + " is \"" + std::string(text) + "\", not a number");
    return value;
}

// The words after `label` on its line of a status file.
std::vector<std::string_view> status_words(std::string_view status, std::string_view label) {
    const std::size_t at = status.find(label);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = status.substr(at + label.size());
    return split(rest.substr(0, rest.find('\n')));
}

std::int64_t clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Returns Denied, as for files in unexpected places, because this is not a failure of ours.
Status check_local(MountFinder& mounts, int place, const std::filesystem::path& process) {
    const auto checked = mounts.check_local(place, process);
    return checked ? checked : make_error(ErrorKind::Denied, checked.error().message);
}

Result<UniqueFd> open_in(int directory, const char* name, std::uint64_t flags,
                         std::uint64_t resolve) {
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.resolve = resolve;
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, directory, name, &how, sizeof(how))));
    if (fd.valid()) return fd;
    if (errno == ELOOP || errno == EXDEV)
        return make_error(ErrorKind::Denied, "is a link, or on another mount");
    return system_error(name);
}

}  // namespace

Result<ProcessFacts> read_process_facts(const std::filesystem::path& process) {
    TRY_ASSIGN(const std::string status, read_file(process / "status", 64 * 1024));
    const auto inner = status_words(status, "\nNSpid:");
    const auto uids = status_words(status, "\nUid:");
    if (inner.empty() || uids.size() < 2)
        return make_error(ErrorKind::Invalid, "status has no NSpid or no Uid");
    TRY_ASSIGN(const std::string stat, read_file(process / "stat", 64 * 1024));
    // The name in parentheses may contain anything. The fields after its last parenthesis are
    // numbers, starting with the third field.
    const auto fields =
        split(std::string_view(stat).substr(std::min(stat.rfind(')') + 1, stat.size())));
    if (fields.size() <= start_field - 3)
        return make_error(ErrorKind::Invalid, "stat is too short");
    TRY_ASSIGN(const std::uint64_t inner_pid, number(inner.back(), "NSpid"));
    TRY_ASSIGN(const std::uint64_t uid, number(uids[1], "Uid"));
    TRY_ASSIGN(const std::uint64_t ticks, number(fields[start_field - 3], "the time of start"));
    ProcessFacts facts;
    facts.inner_pid = static_cast<std::uint32_t>(inner_pid);
    facts.effective_uid = static_cast<std::uint32_t>(uid);
    TRY_ASSIGN(facts.party, read_party(process));
    const std::int64_t tick_ns = 1'000'000'000LL / ::sysconf(_SC_CLK_TCK);
    facts.started_realtime_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
                                static_cast<std::int64_t>(ticks) * tick_ns;
    return facts;
}

Result<UniqueFd> open_own_tmp(const std::filesystem::path& process, MountFinder& mounts) {
    TRY_ASSIGN(const UniqueFd root, open_file(process / "root", O_PATH | O_DIRECTORY));
    TRY(check_local(mounts, root.get(), process));
    TRY_ASSIGN(UniqueFd tmp, open_in(root.get(), "tmp", O_PATH | O_DIRECTORY,
                                     RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS));
    TRY(check_local(mounts, tmp.get(), process));
    return tmp;
}

// Opening anything other than a regular file may have effects, so check it before opening.
Result<UniqueFd> reopen_plain_file(int place) {
    struct stat facts {};
    if (::fstat(place, &facts) != 0) return system_error("stat");
    if (!S_ISREG(facts.st_mode)) return make_error(ErrorKind::Denied, "is not a plain file");
    if (facts.st_nlink > 1) return make_error(ErrorKind::Denied, "has other hard links");
    // O_NONBLOCK: do not wait for the holder of a lease.
    return open_file("/proc/self/fd/" + std::to_string(place), O_RDONLY | O_NONBLOCK);
}

Result<UniqueFd> open_plain_file(int directory, const std::string& name) {
    TRY_ASSIGN(const UniqueFd place,
               open_in(directory, name.c_str(), O_PATH | O_NOFOLLOW,
                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV));
    return reopen_plain_file(place.get());
}

Result<UniqueFd> open_mapped_file(const std::filesystem::path& process, const std::string& range,
                                  MountFinder& mounts) {
    TRY_ASSIGN(const UniqueFd place, open_file(process / "map_files" / range, O_PATH));
    TRY(check_local(mounts, place.get(), process));
    return reopen_plain_file(place.get());
}

}  // namespace lagtrap::daemon
