// The kinds of jobs that servers of a store share, and their payloads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::server {

inline constexpr const char* parse_job = "parse";  // parse a bundle
// search for dirty runs of an event; the payload is its name
inline constexpr const char* dirty_job = "dirty";
inline constexpr const char* causes_job =
    "causes";  // search for the causes of an event's delays; the payload is its name

struct ParsePayload {
    std::string digest;
    std::string host;  // the only one that the bundle may name; empty: any

    [[nodiscard]] std::string text() const { return digest + " " + host; }
    [[nodiscard]] static ParsePayload parse(std::string_view text) {
        const std::string_view digest = text.substr(0, text.find(' '));
        return {std::string(digest),
                std::string(text.substr(std::min(text.size(), digest.size() + 1)))};
    }
};

}  // namespace lagtrap::server
