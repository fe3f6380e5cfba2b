// Reads numbers and texts from untrusted bytes. Internal to binaries/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lagtrap::binaries {

// A position in some bytes. Reading past the end yields 0 and makes ok() false from then on.
class ByteCursor {
  public:
    explicit ByteCursor(std::string_view bytes, std::size_t position = 0)
        : bytes_(bytes), position_(position), ok_(position <= bytes.size()) {}

    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] bool at_end() const { return !ok_ || position_ == bytes_.size(); }

    // Reads a little-endian number.
    template <typename Number>
    [[nodiscard]] Number number() {
        Number value{};
        if (!has(sizeof value)) return value;
        std::memcpy(&value, bytes_.data() + position_, sizeof value);
        position_ += sizeof value;
        return value;
    }

    // LEB128 numbers (DWARF 5, 7.6). Bits beyond 64 are dropped. Reads at most 10 bytes.
    [[nodiscard]] std::uint64_t unsigned_leb128() { return leb128().value; }
    [[nodiscard]] std::int64_t signed_leb128() {
        const auto read = leb128();
        const bool negative =
            read.bits < 64 && read.bits > 0 && (read.value >> (read.bits - 1) & 1) != 0;
        return static_cast<std::int64_t>(negative ? read.value | ~std::uint64_t{0} << read.bits
                                                  : read.value);
    }

    [[nodiscard]] std::string_view take(std::uint64_t size) {
        if (!has(size)) return {};
        const auto taken = bytes_.substr(position_, size);
        position_ += size;
        return taken;
    }

    // Reads up to a NUL and skips it.
    [[nodiscard]] std::string_view text() {
        const std::size_t end = ok_ ? bytes_.find('\0', position_) : std::string_view::npos;
        if (end == std::string_view::npos) {
            ok_ = false;
            return {};
        }
        const auto taken = bytes_.substr(position_, end - position_);
        position_ = end + 1;
        return taken;
    }

  private:
    struct Leb128 {
        std::uint64_t value = 0;
        unsigned bits = 0;
    };

    bool has(std::uint64_t size) {
        ok_ = ok_ && size <= bytes_.size() - position_;
        return ok_;
    }

    Leb128 leb128() {
        constexpr unsigned max_bits = 70;
        Leb128 read;
        for (;;) {
            const auto byte = number<std::uint8_t>();
            if (read.bits < 64) read.value |= std::uint64_t{byte & 0x7fU} << read.bits;
            read.bits += 7;
            if ((byte & 0x80) == 0) return read;
            if (read.bits < max_bits) continue;
            ok_ = false;
            return read;
        }
    }

    std::string_view bytes_;
    std::size_t position_;
    bool ok_;
};

}  // namespace lagtrap::binaries
