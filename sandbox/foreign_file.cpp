#include "sandbox/foreign_file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/file_access.hpp"
#include "core/files.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap {
namespace {

constexpr int look_only = O_PATH | O_CLOEXEC;

bool is_number(const std::string& text) {
    return !text.empty() && text.size() < 16 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A path of the form /proc/PROCESS/WHAT/REST, split.
struct ProcessPath {
    std::filesystem::path link;  // /proc/PROCESS/WHAT
    std::string what;
    std::filesystem::path rest;
};

bool split_process_path(const std::filesystem::path& path, ProcessPath& split) {
    std::vector<std::filesystem::path> parts(path.begin(), path.end());
    if (parts.size() < 4 || parts[0] != "/" || parts[1] != "proc") return false;
    const bool process = is_number(parts[2].string()) || parts[2] == "self";
    if (!process) return false;
    split.link = parts[0] / parts[1] / parts[2] / parts[3];
    split.what = parts[3].string();
    for (std::size_t i = 4; i < parts.size(); ++i) split.rest /= parts[i];
    return true;
}

Result<UniqueFd> look_up(const std::filesystem::path& path, Links links) {
    const unsigned long long no_links =
        RESOLVE_NO_MAGICLINKS |
        (links == Links::Refused ? static_cast<unsigned long long>(RESOLVE_NO_SYMLINKS) : 0);
    if (const auto name = name_on_machine(path); name != path) {
        TRY_ASSIGN(const UniqueFd root,
                   open_resolved(AT_FDCWD, machine_root(), look_only | O_DIRECTORY, 0, 0));
        const auto rest = name.relative_path();
        return open_resolved(root.get(), rest.empty() ? "." : rest, look_only, 0,
                             RESOLVE_IN_ROOT | no_links);
    }
    ProcessPath split;
    if (split_process_path(path, split)) {
        if (split.what == "root") {
            TRY_ASSIGN(const UniqueFd root,
                       open_resolved(AT_FDCWD, split.link, look_only | O_DIRECTORY, 0, 0));
            return open_resolved(root.get(), split.rest, look_only, 0, RESOLVE_IN_ROOT | no_links);
        }
        // A file below a folder that a process holds open.
        if (split.what == "fd" && std::distance(split.rest.begin(), split.rest.end()) > 1 &&
            is_number(split.rest.begin()->string())) {
            const auto link = split.link / *split.rest.begin();
            TRY_ASSIGN(const UniqueFd folder,
                       open_resolved(AT_FDCWD, link, look_only | O_DIRECTORY, 0, 0));
            const auto rest = split.rest.lexically_relative(*split.rest.begin());
            return open_resolved(folder.get(), rest, look_only, 0, RESOLVE_IN_ROOT | no_links);
        }
        const bool one_link =
            (split.what == "exe" && split.rest.empty()) ||
            ((split.what == "map_files" || split.what == "fd") &&
             std::distance(split.rest.begin(), split.rest.end()) == 1 && split.rest != "..");
        if (one_link) return open_resolved(AT_FDCWD, path, look_only, 0, 0);
    }
    return open_resolved(AT_FDCWD, path, look_only, 0, no_links);
}

}  // namespace

Result<UniqueFd> open_resolved(int directory, const std::filesystem::path& path, int flags,
                               unsigned mode, unsigned long long resolve) {
    open_how how{};
    how.flags = static_cast<unsigned>(flags) | O_CLOEXEC;
    how.mode = mode;
    how.resolve = resolve;
    // openat2() returns EAGAIN if something on the way was renamed meanwhile.
    constexpr int attempts = 16;
    long fd = -1;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    if (fd < 0) return system_error(path.string());
    return UniqueFd(static_cast<int>(fd));
}

std::filesystem::path path_of_descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

Result<UniqueFd> reopen_regular_file(int place) {
    struct stat facts {};
    if (::fstat(place, &facts) != 0) return system_error("stat");
    if (S_ISDIR(facts.st_mode)) return make_error(ErrorKind::Denied, "is a folder");
    if (!S_ISREG(facts.st_mode)) return make_error(ErrorKind::Denied, "is not a regular file");
    UniqueFd file(
        ::open(path_of_descriptor(place).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.valid()) return system_error("open");
    return file;
}

Result<std::string> read_regular_file(const std::filesystem::path& path,
                                      std::uint64_t limit_bytes) {
    TRY_ASSIGN(const UniqueFd place, open_file(path, O_PATH | O_NOFOLLOW));
    const auto file = reopen_regular_file(place.get());
    if (!file) return file.error().within(path.string());
    auto content = read_all(file->get(), limit_bytes);
    if (!content) return content.error().within(path.string());
    return content;
}

Result<UniqueFd> open_place(const std::filesystem::path& path, Links links) {
    return look_up(path, links);
}

Result<UniqueFd> open_regular_file(const std::filesystem::path& path, Links links) {
    if (FileAccess* const other = file_access())
        return other->open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    TRY_ASSIGN(const UniqueFd place, look_up(path, links));
    auto file = reopen_regular_file(place.get());
    if (!file) return file.error().within(path.string());
    return file;
}

}  // namespace lagtrap
