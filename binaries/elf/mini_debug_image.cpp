#include <lzma.h>

#include <array>

#include "binaries/elf/function_symbols.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_packed_bytes = 64ULL << 20;
constexpr std::uint64_t max_decoder_bytes = 128ULL << 20;

class XzDecoder {
  public:
    ~XzDecoder() { lzma_end(&stream_); }
    lzma_stream* get() { return &stream_; }

  private:
    lzma_stream stream_ = LZMA_STREAM_INIT;
};

Result<std::string> unpack_xz(std::string_view packed, std::uint64_t limit_bytes) {
    XzDecoder decoder;
    lzma_stream& stream = *decoder.get();
    if (lzma_stream_decoder(&stream, max_decoder_bytes, 0) != LZMA_OK)
        return make_error(ErrorKind::System, "cannot initialize the xz decoder");
    stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream.avail_in = packed.size();
    std::string unpacked;
    std::array<std::uint8_t, 65536> buffer;
    for (;;) {
        stream.next_out = buffer.data();
        stream.avail_out = buffer.size();
        const lzma_ret answer = lzma_code(&stream, LZMA_FINISH);
        unpacked.append(reinterpret_cast<const char*>(buffer.data()),
                        buffer.size() - stream.avail_out);
        if (unpacked.size() > limit_bytes)
            return make_error(ErrorKind::TooLarge, ".gnu_debugdata holds more than " +
                                                       std::to_string(limit_bytes) + " bytes");
        if (answer == LZMA_STREAM_END) return unpacked;
        if (answer != LZMA_OK)
            return make_error(ErrorKind::Invalid, ".gnu_debugdata is incomplete (liblzma error " +
                                                      std::to_string(answer) + ")");
    }
}

}  // namespace

Result<ElfImage> mini_debug_image(const ElfImage& image, std::uint64_t limit_bytes) {
    const ElfSection* section = image.find_section(".gnu_debugdata");
    if (section == nullptr)
        return make_error(ErrorKind::NotFound, image.name() + ": no .gnu_debugdata");
    TRY_ASSIGN(const std::string packed, image.read(*section, max_packed_bytes));
    auto unpacked = unpack_xz(packed, limit_bytes);
    if (!unpacked) return unpacked.error().within(image.name());
    return ElfImage::from_bytes(std::move(unpacked).value(), image.name() + " (.gnu_debugdata)");
}

}  // namespace lagtrap::binaries
