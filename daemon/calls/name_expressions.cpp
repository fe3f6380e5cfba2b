#include "daemon/calls/name_expressions.hpp"

#include <fnmatch.h>

#include <exception>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::daemon {

Result<boost::regex> expression_of(const std::string& text) {
    try {
        return text.empty() ? boost::regex() : boost::regex(text);
    } catch (const std::exception& wrong) {
        return make_error(ErrorKind::Invalid,
                          fmt::format("\"{}\" is not a valid regular expression: {}",
                                      printable(text), std::string_view(wrong.what())));
    }
}

bool finds(const boost::regex& expression, std::string_view name) {
    try {
        return !expression.empty() &&
               boost::regex_search(std::string(name.substr(0, max_name_bytes)), expression);
    } catch (const std::exception&) {
        return false;
    }
}

bool is_whole(const boost::regex& expression, std::string_view name) {
    try {
        return !expression.empty() &&
               boost::regex_match(std::string(name.substr(0, max_name_bytes)), expression);
    } catch (const std::exception&) {
        return false;
    }
}

bool fits(const std::string& pattern, const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace lagtrap::daemon
