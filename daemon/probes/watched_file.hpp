// A program or library with markers, open from when it is read until its probes are out. It is read, leased and probed
// by its descriptor: whatever comes to lie under its name meanwhile, the kernel puts the probes into what was read.
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

// What tells a file, and a state of it, from another.
struct FileIdentity {
    std::uint64_t device = 0, inode = 0, size_bytes = 0;
    std::int64_t modified_s = 0, modified_ns = 0;

    [[nodiscard]] static FileIdentity of(const struct stat& facts);
    // Of what lies under the path; nullopt: nothing does. May wait for the file system.
    [[nodiscard]] static std::optional<FileIdentity> at(const std::string& path);
    bool operator==(const FileIdentity&) const = default;
    [[nodiscard]] bool same_file(const FileIdentity& other) const {
        return device == other.device && inode == other.inode;
    }
};

// Immutable; free to be used from any thread.
class WatchedFile {
  public:
    // Errors as open_regular_file() has them. May wait for the file system.
    [[nodiscard]] static Result<std::shared_ptr<const WatchedFile>> open(const std::string& path);

    // One that somebody opened already, as a process sees it under `path`, which has to be the name of no other file: it is
    // found again by its descriptor alone. Waits for no file system.
    [[nodiscard]] static Result<std::shared_ptr<const WatchedFile>> adopt(UniqueFd fd, std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    // When it was opened.
    [[nodiscard]] const FileIdentity& identity() const { return identity_; }
    [[nodiscard]] uid_t owner() const { return owner_; }
    // As other_writers() has it, when it was opened.
    [[nodiscard]] const std::string& other_writers() const { return other_writers_; }
    // By this name the kernel, asked by this process, finds this very file.
    [[nodiscard]] std::string descriptor_path() const;
    // Whether it is still what was opened. May wait for the file system.
    [[nodiscard]] bool unchanged() const;

  private:
    // Which the owner cannot set, as that of the last modification.
    using ChangeTime = std::pair<std::int64_t, std::int64_t>;
    [[nodiscard]] static Result<std::shared_ptr<WatchedFile>> look_at(UniqueFd fd, std::string path);
    WatchedFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    std::string path_;
    UniqueFd fd_;
    FileIdentity identity_;
    ChangeTime change_time_;
    uid_t owner_ = 0;
    std::string other_writers_;
};

}  // namespace lagtrap::daemon
