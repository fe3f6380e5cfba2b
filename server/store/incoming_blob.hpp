// A blob that is being received.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::server {

// The destructor removes the file unless the blob was kept. One thread at a time.
class IncomingBlob {
  public:
    // Creates a file with mode 0600 in `folder`, which must exist.
    [[nodiscard]] static Result<IncomingBlob> make(const std::filesystem::path& folder);

    IncomingBlob(UniqueFd fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}
    IncomingBlob(IncomingBlob&& other) noexcept;
    IncomingBlob& operator=(IncomingBlob&&) = delete;
    ~IncomingBlob();

    // An error has system_errno ENOSPC or EDQUOT if the disk is full.
    [[nodiscard]] Status write(const void* data, std::size_t size);
    // Syncs the file and returns the digest of all that was written. Do not write afterwards.
    [[nodiscard]] Result<std::string> seal();
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    // Gives up ownership of the file.
    void forget() { path_.clear(); }

  private:
    UniqueFd fd_;
    std::filesystem::path path_;  // empty once kept
    Sha256 digest_;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace lagtrap::server
