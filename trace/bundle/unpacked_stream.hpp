// Unpacks a zstd file piece by piece within limits. It is safe for untrusted files: whatever the
// file contains, memory holds one piece and zstd's window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.hpp"

struct ZSTD_DCtx_s;

namespace lagtrap::trace {

// A file that unpacks to more than `free_bytes` must not unpack to more than `max_expansion` times
// the bytes read of it. No file may need a window of more than 2^`window_log` bytes.
struct UnpackLimits {
    std::uint64_t free_bytes = 16 << 20;
    std::uint64_t max_expansion = 256;
    int window_log = 23;
};

// Not thread-safe.
class UnpackedStream {
  public:
    // Reads from the current position of `fd`, which must outlive the stream.
    explicit UnpackedStream(int fd, UnpackLimits limits = {});
    UnpackedStream(UnpackedStream&&) noexcept;
    UnpackedStream& operator=(UnpackedStream&&) = delete;
    ~UnpackedStream();

    // Returns up to `size` bytes, fewer only at the end. ErrorKind::Invalid if the file is not a
    // zstd file, is damaged or is truncated; ErrorKind::TooLarge beyond the limits.
    [[nodiscard]] Result<std::size_t> read(char* into, std::size_t size);

  private:
    struct FreeContext {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    [[nodiscard]] Status refill();
    [[nodiscard]] Status check_expansion() const;

    int fd_;
    UnpackLimits limits_;
    std::unique_ptr<ZSTD_DCtx_s, FreeContext> context_;
    std::vector<char> packed_;
    std::size_t packed_begin_ = 0, packed_end_ = 0;
    std::uint64_t packed_bytes_ = 0;    // read so far
    std::uint64_t unpacked_bytes_ = 0;  // returned so far
    bool within_frame_ = false;
    bool file_ended_ = false;
};

}  // namespace lagtrap::trace
