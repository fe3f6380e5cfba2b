#include "cli/why/waited_files.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t small_file_bytes = 4096;
constexpr std::size_t users_shown = 3;
// System calls that can block and whose first argument is a file descriptor.
constexpr std::array<long, 12> calls_of_descriptors{
    SYS_read,  SYS_write,     SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64,
    SYS_fsync, SYS_fdatasync, SYS_flock, SYS_splice, SYS_ioctl,   SYS_sendfile};

std::uint32_t number_of(const fs::path& entry) {
    const std::string name = entry.filename().string();
    std::uint32_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number;
}

// Parses /proc/PID/task/TID/syscall: "0 0x3 0x7ffc 0x400 ...".
std::optional<unsigned> descriptor_in(const std::string& line) {
    std::istringstream words(line);
    long call = -1;
    std::string first;
    if (!(words >> call >> first) || !first.starts_with("0x")) return std::nullopt;
    if (std::find(calls_of_descriptors.begin(), calls_of_descriptors.end(), call) ==
        calls_of_descriptors.end())
        return std::nullopt;
    unsigned descriptor = 0;
    const auto read =
        std::from_chars(first.data() + 2, first.data() + first.size(), descriptor, 16);
    return read.ec == std::errc{} ? std::optional(descriptor) : std::nullopt;
}

std::string link_of(const fs::path& link) {
    std::error_code failed;
    return fs::read_symlink(link, failed).string();
}

bool is_pipe(const fs::path& descriptor) {
    struct stat status {};
    return ::stat(descriptor.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

std::string name_of(const fs::path& process) {
    const auto comm = read_file(process / "comm", small_file_bytes);
    const std::string name = comm ? comm->substr(0, comm->find('\n')) : std::string();
    return printable(name) + " (" + process.filename().string() + ")";
}

bool has_open(const fs::path& process, const std::string& file) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(process / "fd", failed))
        if (link_of(entry.path()) == file) return true;
    return false;
}

std::string other_users(const std::string& file, std::uint32_t pid, const fs::path& proc_root) {
    std::string users;
    std::size_t count = 0;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(proc_root, failed)) {
        const std::uint32_t other = number_of(entry.path());
        if (other == 0 || other == pid || !has_open(entry.path(), file)) continue;
        if (++count <= users_shown) users += (users.empty() ? "" : ", ") + name_of(entry.path());
    }
    if (count == 0) return ", which no other process has open";
    return ", also open in " + users + (count > users_shown ? ", ..." : "");
}

}  // namespace

std::map<std::uint32_t, std::string> waited_files(std::uint32_t pid, const fs::path& proc_root) {
    const fs::path process = proc_root / std::to_string(pid);
    std::map<std::uint32_t, std::string> files;
    std::map<std::string, std::string> users;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(process / "task", failed)) {
        const auto call = read_file(entry.path() / "syscall", small_file_bytes);
        const auto descriptor = call ? descriptor_in(*call) : std::nullopt;
        if (!descriptor) continue;
        const fs::path link = process / "fd" / std::to_string(*descriptor);
        const std::string file = link_of(link);
        const bool pipe = is_pipe(link);
        if (!pipe && !file.starts_with('/')) continue;
        if (pipe && !users.contains(file)) users[file] = other_users(file, pid, proc_root);
        files[number_of(entry.path())] = printable(file) + " (descriptor " +
                                         std::to_string(*descriptor) + ")" +
                                         (pipe ? users[file] : "");
    }
    return files;
}

}  // namespace lagtrap::cli
