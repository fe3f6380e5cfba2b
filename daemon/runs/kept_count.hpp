// A number in a file that outlives its process, killed or not. It is not synced: the machine's end may take the last ones.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.hpp"

namespace lagtrap::daemon {

// One thread's. The file is open only while it is read or written, so that its file system can be made read-only.
class KeptCount {
  public:
    // A file that is missing or holds no number counts as 0. Errors of the file, which may be no link.
    [[nodiscard]] static Result<KeptCount> open(std::filesystem::path path);

    [[nodiscard]] std::uint64_t value() const { return value_; }
    // One write, none where it is the same. Makes the file (0600). After an error the next call tries again.
    [[nodiscard]] Status set(std::uint64_t value);

  private:
    KeptCount(std::filesystem::path path, std::uint64_t value) : path_(std::move(path)), value_(value) {}

    std::filesystem::path path_;
    std::uint64_t value_;
};

}  // namespace lagtrap::daemon
