// Finds the file that the kernel probes. For a file in an overlay, as in containers, that is the
// file in one of its layers, which all containers of an image share.
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
    std::uint32_t device = 0;  // the kernel's dev_t
    auto operator<=>(const RealFile&) const = default;
};

// Asks the kernel by a BPF program (bpf/mapped file.bpf.c). Thread-safe.
class RealFiles {
  public:
    // Errors: the kernel refuses the program.
    [[nodiscard]] static Result<std::unique_ptr<RealFiles>> load();

    // The real file behind a file that is open for reading. Does not read it.
    [[nodiscard]] Result<RealFile> of(int fd);

  private:
    RealFiles() = default;
    [[nodiscard]] Result<RealFile> look_at(const void* address);

    std::shared_ptr<mapped_file_bpf> program_;
    std::mutex mutex_;  // one query at a time
};

}  // namespace lagtrap::daemon
