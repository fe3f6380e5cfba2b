// Which file the kernel probes: of an overlay, as containers have them, the file in one of its layers, which all containers of
// an image share.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/result.hpp"

struct mapped_file_bpf;

namespace lagtrap::daemon {

struct RealFile {
    std::uint64_t inode = 0;
    std::uint32_t device = 0;  // kernel's dev_t
    auto operator<=>(const RealFile&) const = default;
};

// Asks the kernel, by a program of its own (bpf/mapped_file.bpf.c). Free to be used from any thread.
class RealFiles {
  public:
    // Errors: the kernel refuses the program.
    [[nodiscard]] static Result<std::unique_ptr<RealFiles>> load();

    // Of a file that is open for reading. Reads nothing of it.
    [[nodiscard]] Result<RealFile> of(int fd);

  private:
    RealFiles() = default;
    [[nodiscard]] Result<RealFile> look_at(const void* address);

    std::shared_ptr<mapped_file_bpf> program_;
    std::mutex mutex_;  // one question at a time
};

}  // namespace lagtrap::daemon
