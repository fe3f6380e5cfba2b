#include "core/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/fault_point.hpp"
#include "core/file_access.hpp"

namespace lagtrap {
namespace {

FileAccess* access_of_process = nullptr;

}  // namespace

void use_file_access(FileAccess* access) { access_of_process = access; }

FileAccess* file_access() { return access_of_process; }

Result<UniqueFd> open_file(const std::filesystem::path& path, int flags, unsigned mode) {
    if (access_of_process != nullptr) return access_of_process->open(path, flags, mode);
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
    if (!fd.valid()) return system_error(path.string());
    return fd;
}

Result<std::string> read_all(int fd, std::uint64_t limit_bytes) {
    std::string content;
    std::array<char, 65536> buffer;
    for (;;) {
        const ssize_t got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("read");
        if (got == 0) return content;
        if (content.size() + static_cast<std::size_t>(got) > limit_bytes)
            return make_error(ErrorKind::TooLarge,
                              "larger than " + std::to_string(limit_bytes) + " bytes");
        content.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY));
    auto content = read_all(fd.get(), limit_bytes);
    if (!content) return content.error().within(path.string());
    return content;
}

Status write_all(int fd, const void* data, std::size_t size) {
    const char* position = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t written = ::write(fd, position, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return system_error("write");
        position += written;
        size -= static_cast<std::size_t>(written);
    }
    return success();
}

Status sync_directory(const std::filesystem::path& directory) {
    TRY_ASSIGN(const UniqueFd fd,
               open_file(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY));
    if (::fsync(fd.get()) != 0) return system_error("sync " + directory.string());
    return success();
}

Result<UniqueFd> make_temporary_file(std::string& name) {
    if (access_of_process != nullptr) return access_of_process->make_temporary(name);
    UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd.valid()) return system_error(name);
    return fd;
}

Status rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (access_of_process != nullptr) return access_of_process->rename(from, to);
    if (::rename(from.c_str(), to.c_str()) != 0) return system_error("rename " + from.string());
    return success();
}

Result<std::vector<std::string>> list_folder(const std::filesystem::path& folder,
                                             std::size_t limit) {
    TRY_ASSIGN(UniqueFd fd, open_file(folder, O_RDONLY | O_DIRECTORY));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), ::closedir);
    if (!stream) return system_error(folder.string());
    (void)fd.release();  // the stream closes it
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (names.size() >= limit) break;
        names.emplace_back(name);
    }
    return names;
}

Status set_mode(int fd, unsigned mode) {
    struct stat facts {};
    // Files created by the broker are not ours, so fchmod() would fail; their mode is already
    // right.
    if (access_of_process != nullptr && ::fstat(fd, &facts) == 0 && (facts.st_mode & 0777) == mode)
        return success();
    if (::fchmod(fd, mode) != 0) return system_error("chmod");
    return success();
}

void remove_file(const std::filesystem::path& path) {
    if (access_of_process != nullptr) return access_of_process->remove(path);
    (void)::unlink(path.c_str());
}

Status write_file(const std::filesystem::path& path, std::string_view content, unsigned mode) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
    if (auto status = write_all(fd.get(), content.data(), content.size()); !status)
        return status.error().within(path.string());
    return success();
}

Status write_file_durably(const std::filesystem::path& path, std::string_view content,
                          unsigned mode) {
    std::string temporary = path.string() + ".XXXXXX";
    TRY_ASSIGN(const UniqueFd fd, make_temporary_file(temporary));
    auto write_synced = [&]() -> Status {
        FAULT_POINT_OF("file.begin", path);
        TRY(write_all(fd.get(), content.data(), content.size()));
        TRY(set_mode(fd.get(), mode));
        if (::fsync(fd.get()) != 0) return system_error("sync");
        FAULT_POINT_OF("file.written", path);
        TRY(rename_file(temporary, path));
        FAULT_POINT_OF("file.renamed", path);
        return sync_directory(path.parent_path());
    };
    if (auto status = write_synced(); !status) {
        remove_file(temporary);
        return status.error().within(path.string());
    }
    return success();
}

Status rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
    FAULT_POINT_OF("move.begin", to);
    TRY(rename_file(from, to));
    FAULT_POINT_OF("move.renamed", to);
    TRY(sync_directory(to.parent_path()));
    if (from.parent_path() == to.parent_path()) return success();
    return sync_directory(from.parent_path());
}

Status make_directories(const std::filesystem::path& directory, unsigned mode) {
    std::filesystem::path made;
    for (const auto& part : directory) {
        made /= part;
        if (::mkdir(made.c_str(), mode) != 0 && errno != EEXIST && errno != EISDIR)
            return system_error("mkdir " + made.string());
    }
    struct stat facts {};
    if (::stat(directory.c_str(), &facts) != 0) return system_error(directory.string());
    if (!S_ISDIR(facts.st_mode))
        return make_error(ErrorKind::Invalid, directory.string() + ": not a directory");
    return success();
}

}  // namespace lagtrap
