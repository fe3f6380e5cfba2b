#include "trace/bundle/unpacked_stream.hpp"

#include <unistd.h>
#include <zstd.h>

#include <string>

namespace lagtrap::trace {

void UnpackedStream::FreeContext::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

UnpackedStream::UnpackedStream(int fd, UnpackLimits limits)
    : fd_(fd), limits_(limits), context_(ZSTD_createDCtx()), packed_(1 << 16) {
    if (context_) ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits_.window_log);
}
UnpackedStream::UnpackedStream(UnpackedStream&&) noexcept = default;
UnpackedStream::~UnpackedStream() = default;

Status UnpackedStream::refill() {
    ssize_t got = -1;
    do {
        got = ::read(fd_, packed_.data(), packed_.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return system_error("reading");
    file_ended_ = got == 0;
    packed_begin_ = 0;
    packed_end_ = static_cast<std::size_t>(got);
    packed_bytes_ += packed_end_;
    return success();
}

Status UnpackedStream::check_expansion() const {
    if (unpacked_bytes_ <= limits_.free_bytes ||
        unpacked_bytes_ / limits_.max_expansion <= packed_bytes_)
        return success();
    return make_error(ErrorKind::TooLarge, "unpacks to more than " +
                                               std::to_string(limits_.max_expansion) +
                                               " times its size, as no recording does");
}

Result<std::size_t> UnpackedStream::read(char* into, std::size_t size) {
    if (!context_) return make_error(ErrorKind::System, "zstd cannot be set up");
    ZSTD_outBuffer output{into, size, 0};
    while (output.pos < output.size) {
        if (packed_begin_ == packed_end_ && !file_ended_) TRY(refill());
        ZSTD_inBuffer input{packed_.data(), packed_end_, packed_begin_};
        const std::size_t unpacked_before = output.pos;
        // Call it without input too: zstd may hold more output than there was room for.
        const std::size_t answer = ZSTD_decompressStream(context_.get(), &output, &input);
        if (ZSTD_isError(answer) != 0)
            return make_error(ErrorKind::Invalid,
                              std::string("it is damaged: ") + ZSTD_getErrorName(answer));
        const bool moved = input.pos != packed_begin_ || output.pos != unpacked_before;
        if (moved) within_frame_ = answer != 0;
        packed_begin_ = input.pos;
        unpacked_bytes_ += output.pos - unpacked_before;
        TRY(check_expansion());
        if (!moved && file_ended_) {
            if (within_frame_) return make_error(ErrorKind::Invalid, "it is cut short");
            break;
        }
    }
    return output.pos;
}

}  // namespace lagtrap::trace
