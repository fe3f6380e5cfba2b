#include "server/store/sight.hpp"

#include <algorithm>

namespace lagtrap::server {
namespace {

bool any_fits(const std::vector<std::string>& patterns, std::string_view text) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return fits_pattern(pattern, text); });
}

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view text) {
    std::size_t in_pattern = 0, in_text = 0;
    // The position of the last '*', and the first text that it does not cover yet.
    std::size_t star = std::string_view::npos, uncovered = 0;
    while (in_text < text.size()) {
        if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
            star = in_pattern++;
            uncovered = in_text;
        } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[in_text]) {
            ++in_pattern;
            ++in_text;
        } else if (star != std::string_view::npos) {
            in_pattern = star + 1;
            in_text = ++uncovered;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

bool Sight::sees_event(std::string_view event) const { return any_fits(events, event); }

bool Sight::sees_unit(std::string_view unit) const {
    return !unit.empty() && any_fits(units, unit);
}

}  // namespace lagtrap::server
