// Whether a name is among those that somebody asked for with a regular expression.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include <boost/regex.hpp>

namespace lagtrap::daemon {

// Of a name so much counts.
inline constexpr std::size_t most_name_bytes = 4096;

// An empty expression matches nothing, and what takes too long to compare does not match.
[[nodiscard]] inline bool matches(const boost::regex& expression, const std::string& name) {
    try {
        return !expression.empty() && boost::regex_search(name.substr(0, most_name_bytes), expression);
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace lagtrap::daemon
