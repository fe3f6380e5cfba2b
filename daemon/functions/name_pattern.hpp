// Matches names against a user's regular expression.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include <boost/regex.hpp>

namespace lagtrap::daemon {

// Longer names are cut before matching.
inline constexpr std::size_t max_pattern_name_bytes = 4096;

// An empty expression matches nothing. A comparison that becomes too expensive counts as no match.
[[nodiscard]] inline bool matches(const boost::regex& expression, const std::string& name) {
    try {
        return !expression.empty() &&
               boost::regex_search(name.substr(0, max_pattern_name_bytes), expression);
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace lagtrap::daemon
