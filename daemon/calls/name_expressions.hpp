// Compares names of functions, classes and files with what a user wants to trace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/regex.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

// Of longer names, only the beginning counts.
inline constexpr std::size_t max_name_bytes = 4096;

// An empty text gives an empty expression, which matches nothing. Invalid if it cannot be compiled.
[[nodiscard]] Result<boost::regex> expression_of(const std::string& text);

// True if the expression matches a part of the name, or the whole name. A comparison
// that becomes too expensive counts as no match.
[[nodiscard]] bool finds(const boost::regex& expression, std::string_view name);
[[nodiscard]] bool is_whole(const boost::regex& expression, std::string_view name);

// True if the name matches a pattern with * and ?, fnmatch(3).
[[nodiscard]] bool fits(const std::string& pattern, const std::string& name);

}  // namespace lagtrap::daemon
