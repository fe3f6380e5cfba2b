// JSON as people read it, for files of expected answers.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace lagtrap::server {

inline std::string readable(const boost::json::value& value, std::size_t depth = 0);

// On one line if it is short or has only numbers.
inline std::string readable_list(const std::vector<std::string>& parts, const char* around,
                                 bool numbers, std::size_t depth) {
    constexpr std::size_t long_length = 90;
    std::size_t length = 0;
    for (const std::string& part : parts)
        length += part.find('\n') == std::string::npos ? part.size() + 2 : long_length;
    const bool on_lines = !numbers && length >= long_length;
    std::string text(1, around[0]);
    for (std::size_t i = 0; i < parts.size(); ++i)
        text += (i == 0     ? ""
                 : on_lines ? ","
                            : ", ") +
                (on_lines ? "\n" + std::string(depth + 1, ' ') : "") + parts[i];
    return text + around[1];
}

inline std::string readable(const boost::json::value& value, std::size_t depth) {
    std::vector<std::string> parts;
    if (const boost::json::object* object = value.if_object()) {
        for (const auto& [name, member] : *object)
            parts.push_back(boost::json::serialize(boost::json::string(name)) + ": " +
                            readable(member, depth + 1));
        return readable_list(parts, "{}", false, depth);
    }
    if (const boost::json::array* array = value.if_array()) {
        bool numbers = true;
        for (const boost::json::value& one : *array) {
            numbers = numbers && one.is_number();
            parts.push_back(readable(one, depth + 1));
        }
        return readable_list(parts, "[]", numbers, depth);
    }
    // The last digits depend on the compiler.
    if (value.is_double()) return fmt::format("{:.6g}", value.get_double());
    return boost::json::serialize(value);
}

}  // namespace lagtrap::server
