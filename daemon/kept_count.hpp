// A number in a file that outlives its process, killed or not. It is not synced: the machine's end may take the last ones.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// One thread's.
class KeptCount {
  public:
    // Makes the file (0600) where it is missing; one that holds no number counts as 0. Errors of the file, which may be no
    // link.
    [[nodiscard]] static Result<KeptCount> open(const std::filesystem::path& path);

    [[nodiscard]] std::uint64_t value() const { return value_; }
    // One write, none where it is the same. After an error the next call tries again.
    [[nodiscard]] Status set(std::uint64_t value);

  private:
    KeptCount(UniqueFd file, std::uint64_t value) : file_(std::move(file)), value_(value) {}

    UniqueFd file_;
    std::uint64_t value_;
};

}  // namespace lagtrap::daemon
