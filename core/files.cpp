#include "core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "core/fault_point.hpp"

namespace lagtrap {

Result<UniqueFd> open_file(const std::filesystem::path& path, int flags, unsigned mode) {
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
            return make_error(ErrorKind::TooLarge, "larger than " + std::to_string(limit_bytes) + " bytes");
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
    TRY_ASSIGN(const UniqueFd fd, open_file(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY));
    if (::fsync(fd.get()) != 0) return system_error("sync " + directory.string());
    return success();
}

Status write_file_durably(const std::filesystem::path& path, std::string_view content, unsigned mode) {
    std::string temporary = path.string() + ".XXXXXX";
    UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!fd.valid()) return system_error(temporary);
    auto write_synced = [&]() -> Status {
        FAULT_POINT_OF("file.begin", path);
        TRY(write_all(fd.get(), content.data(), content.size()));
        if (::fchmod(fd.get(), mode) != 0) return system_error("chmod");
        if (::fsync(fd.get()) != 0) return system_error("sync");
        FAULT_POINT_OF("file.written", path);
        if (::rename(temporary.c_str(), path.c_str()) != 0) return system_error("rename");
        FAULT_POINT_OF("file.renamed", path);
        return sync_directory(path.parent_path());
    };
    if (auto status = write_synced(); !status) {
        ::unlink(temporary.c_str());
        return status.error().within(path.string());
    }
    return success();
}

Status rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
    FAULT_POINT_OF("move.begin", to);
    if (::rename(from.c_str(), to.c_str()) != 0) return system_error("rename " + from.string());
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
    if (!S_ISDIR(facts.st_mode)) return make_error(ErrorKind::Invalid, directory.string() + ": not a directory");
    return success();
}

}  // namespace lagtrap
