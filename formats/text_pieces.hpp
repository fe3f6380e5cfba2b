// Text helpers shared by several formats. Internal to formats/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagtrap::formats {

// A JSON string. `text` must be UTF-8 without control characters, as all texts of a profile are.
inline std::string json_string(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') json += '\\';
        json += c;
    }
    return json + '"';
}

// `value` divided by ten to the power of `digits`, with all decimals: 1234 and 3 give "1.234".
inline std::string decimal(std::uint64_t value, unsigned digits) {
    std::string text = std::to_string(value);
    if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
    return text.insert(text.size() - digits, ".");
}

// "library.so" for "/usr/lib/library.so".
inline std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace lagtrap::formats
