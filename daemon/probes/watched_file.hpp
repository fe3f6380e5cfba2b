// A program or library with markers, open from when it is read until its probes are detached. It is
// read, leased and probed through its descriptor, so the kernel probes exactly the file that was
// read, even if its path is replaced.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

struct stat;

namespace lagtrap::daemon {

// Identifies a file and the version of its content.
struct FileIdentity {
    std::uint64_t device = 0, inode = 0, size_bytes = 0;
    std::int64_t modified_s = 0, modified_ns = 0;

    [[nodiscard]] static FileIdentity of(const struct stat& facts);
    // Identity of the file at the path; nullopt if there is none. Can block on the file system.
    [[nodiscard]] static std::optional<FileIdentity> at(const std::string& path);
    bool operator==(const FileIdentity&) const = default;
    [[nodiscard]] bool same_file(const FileIdentity& other) const {
        return device == other.device && inode == other.inode;
    }
};

// Immutable and thread-safe.
class WatchedFile {
  public:
    // Errors as in open_regular_file(). Can block on the file system.
    [[nodiscard]] static Result<std::shared_ptr<const WatchedFile>> open(const std::string& path);

    // Takes over an open file that a process sees as `path`. No other file may use that name; only
    // the descriptor identifies the file. Does not block on a file system.
    [[nodiscard]] static Result<std::shared_ptr<const WatchedFile>> adopt(UniqueFd fd,
                                                                          std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    // At the time of opening.
    [[nodiscard]] const FileIdentity& identity() const { return identity_; }
    [[nodiscard]] uid_t owner() const { return owner_; }
    // See other_writers(), at the time of opening.
    [[nodiscard]] const std::string& other_writers() const { return other_writers_; }
    // A path that leads to this very file, for kernel interfaces used by this process.
    [[nodiscard]] std::string descriptor_path() const;
    // True if the file is unchanged since it was opened. Can block on the file system.
    [[nodiscard]] bool unchanged() const;

  private:
    // Unlike the modification time, the owner cannot set the change time.
    using ChangeTime = std::pair<std::int64_t, std::int64_t>;
    [[nodiscard]] static Result<std::shared_ptr<WatchedFile>> look_at(UniqueFd fd,
                                                                      std::string path);
    WatchedFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    std::string path_;
    UniqueFd fd_;
    FileIdentity identity_;
    ChangeTime change_time_;
    uid_t owner_ = 0;
    std::string other_writers_;
};

}  // namespace lagtrap::daemon
