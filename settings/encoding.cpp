#include "settings/encoding.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace lagtrap::settings {
namespace {

struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 0;  // 0: invalid UTF-8
};

// Decodes the character at the start of `text`, which must not be empty (RFC 3629).
Character decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
    std::uint32_t code = lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = (code << 6) | (byte(i) & 0x3fU);
    }
    constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[bytes] || code > 0x10ffff || surrogate ? Character{}
                                                                  : Character{code, bytes};
}

constexpr const char* utf8_expected = "expected UTF-8 text";

// The encoding that the first bytes reveal; empty if it may be UTF-8.
std::string_view wide_encoding(std::string_view text) {
    using namespace std::string_view_literals;
    if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
    if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv)) return "UTF-16";
    if (text.starts_with("<\0"sv) || text.starts_with("\0<"sv)) return "UTF-16";
    return {};
}

// The encoding named in the XML declaration, with its position in `offset`; empty if none is named.
std::string_view declared_encoding(std::string_view text, std::size_t& offset) {
    if (!text.starts_with("<?xml")) return {};
    const std::string_view declaration = text.substr(0, text.find("?>"));
    offset = declaration.find("encoding");
    if (offset == std::string_view::npos) return {};
    const std::size_t quote = declaration.find_first_of("\"'", offset);
    if (quote == std::string_view::npos) return {};
    const std::size_t end = declaration.find(declaration[quote], quote + 1);
    return end == std::string_view::npos ? std::string_view{}
                                         : declaration.substr(quote + 1, end - quote - 1);
}

bool is_utf8_name(std::string_view name) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    constexpr std::string_view utf8 = "utf-8";
    return std::equal(name.begin(), name.end(), utf8.begin(), utf8.end(),
                      [&](char a, char b) { return lower(a) == b; });
}

}  // namespace

bool is_xml_character(std::uint32_t code) {
    if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
    return code < 0xd800 || (code >= 0xe000 && code < 0xfffe) ||
           (code >= 0x10000 && code <= 0x10ffff);
}

bool check_encoding(const LineIndex& index, Diagnostics& diagnostics) {
    const std::string_view text = index.text();
    if (const std::string_view name = wide_encoding(text); !name.empty()) {
        diagnostics.add({}, fmt::format("the file is in {}", name), utf8_expected,
                        fmt::format("iconv -f {} -t UTF-8 FILE converts it", name));
        return false;
    }
    std::size_t place = 0;
    if (const std::string_view name = declared_encoding(text, place);
        !name.empty() && !is_utf8_name(name)) {
        diagnostics.add(index.place_of(place), "the file declares the encoding " + in_quotes(name),
                        utf8_expected, "convert the file, or remove the declaration");
        return false;
    }
    for (std::size_t offset = 0; offset < text.size();) {
        const Character character = decode(text.substr(offset));
        if (character.bytes > 0 && is_xml_character(character.code)) {
            offset += character.bytes;
            continue;
        }
        const auto byte = static_cast<unsigned char>(text[offset]);
        if (character.bytes == 0)
            diagnostics.add(index.place_of(offset),
                            fmt::format("the byte 0x{:02x} is not UTF-8", byte), utf8_expected);
        else
            diagnostics.add(
                index.place_of(offset),
                byte == 0 ? "a NUL byte" : fmt::format("the character U+{:04X}", character.code),
                "expected text without control characters");
        return false;
    }
    return true;
}

}  // namespace lagtrap::settings
