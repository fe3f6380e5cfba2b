// Patterns for names of functions: "*NAME" matches every name that ends so, apart from a compiler's
// suffix (".isra.0", ".constprop.0"), and "NAME*" every name that begins so. Without a star, the
// whole name must match, again apart from such a suffix. For analysis/ only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace lagtrap::analysis {

[[nodiscard]] constexpr bool matches_pattern(std::string_view name, std::string_view pattern) {
    if (pattern.starts_with('*'))
        return name.substr(0, name.find('.')).ends_with(pattern.substr(1));
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name.starts_with(pattern) &&
           (name.size() == pattern.size() || name[pattern.size()] == '.');
}

template <std::size_t Count>
[[nodiscard]] constexpr bool matches_one_of(std::string_view name,
                                            const std::array<std::string_view, Count>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](std::string_view pattern) { return matches_pattern(name, pattern); });
}

}  // namespace lagtrap::analysis
