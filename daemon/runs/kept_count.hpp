// A number in a file, which survives a killed process. It is not synced, so a crash of the machine
// may lose the last values.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.hpp"

namespace lagtrap::daemon {

// Use it on one thread. The file is open only while it is read or written, so that its file system
// can be remounted read-only.
class KeptCount {
  public:
    // Counts as 0 if the file is missing or contains no number. Errors: the file cannot be read, or
    // is a symlink.
    [[nodiscard]] static Result<KeptCount> open(std::filesystem::path path);

    [[nodiscard]] std::uint64_t value() const { return value_; }
    // Writes the value if it has changed. Creates the file (mode 0600). After an error, the next
    // call tries again.
    [[nodiscard]] Status set(std::uint64_t value);

  private:
    KeptCount(std::filesystem::path path, std::uint64_t value)
        : path_(std::move(path)), value_(value) {}

    std::filesystem::path path_;
    std::uint64_t value_;
};

}  // namespace lagtrap::daemon
