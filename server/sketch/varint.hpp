// Variable-length integers as in protobuf: seven bits per byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagtrap::server {

inline void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

// Removes a number from the front of `in`. If it is truncated or too long, returns false and leaves
// `in` unchanged.
inline bool take_varint(std::string_view& in, std::uint64_t& value) {
    constexpr std::size_t longest = 10;
    value = 0;
    for (std::size_t i = 0; i < longest && i < in.size(); ++i) {
        const auto byte = static_cast<unsigned char>(in[i]);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            in.remove_prefix(i + 1);
            return true;
        }
    }
    return false;
}

inline void put_text(std::string& out, std::string_view text) {
    put_varint(out, text.size());
    out += text;
}

inline bool take_text(std::string_view& in, std::string& text) {
    std::uint64_t size = 0;
    if (!take_varint(in, size) || size > in.size()) return false;
    text = in.substr(0, size);
    in.remove_prefix(size);
    return true;
}

}  // namespace lagtrap::server
