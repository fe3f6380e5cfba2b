// Reads strings from JSON that other servers answer with.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace lagtrap::server {

// Empty if the member is missing or is not a string.
[[nodiscard]] inline std::string text_of(const boost::json::object& object, std::string_view name) {
    const boost::json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
}

}  // namespace lagtrap::server
