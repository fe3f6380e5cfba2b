// A zstd file, unpacked piece by piece within limits. For files from elsewhere: what is held is one piece and zstd's
// window, however the file was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.hpp"

struct ZSTD_DCtx_s;

namespace lagtrap::trace {

// Files that unpack to more than `free_bytes` may not unpack to more than `most_expansion` times what was read of
// them, and may not ask for a window of more than 2^`window_log` bytes.
struct UnpackLimits {
    std::uint64_t free_bytes = 16 << 20;
    std::uint64_t most_expansion = 256;
    int window_log = 23;
};

// Not for several threads at once.
class UnpackedStream {
  public:
    // Reads `fd`, which must outlive it, from where it stands.
    explicit UnpackedStream(int fd, UnpackLimits limits = {});
    UnpackedStream(UnpackedStream&&) noexcept;
    UnpackedStream& operator=(UnpackedStream&&) = delete;
    ~UnpackedStream();

    // Up to `size` bytes, fewer only at the end. ErrorKind::Invalid where the file is no zstd file, is damaged or is cut
    // short; ErrorKind::TooLarge beyond the limits.
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
    std::uint64_t unpacked_bytes_ = 0;  // given so far
    bool within_frame_ = false;
    bool file_ended_ = false;
};

}  // namespace lagtrap::trace
