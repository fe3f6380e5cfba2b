// Bytes as a file, for readers that take a path or a descriptor.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "core/unique_fd.hpp"

namespace lagtrap::fuzz {

class MemoryFile {
  public:
    MemoryFile(const std::uint8_t* data, std::size_t size)
        : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        if (!fd_.valid() || ::write(fd_.get(), data, size) != static_cast<ssize_t>(size))
            std::abort();
        ::lseek(fd_.get(), 0, SEEK_SET);
    }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
    [[nodiscard]] UniqueFd take() { return std::move(fd_); }

  private:
    UniqueFd fd_;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

}  // namespace lagtrap::fuzz
