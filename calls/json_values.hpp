// Reads untrusted JSON values. Every function throws a std::exception if the value is missing or of
// the wrong type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "core/text.hpp"

namespace lagtrap::calls {

[[nodiscard]] inline std::uint64_t number_at(const boost::json::array& row, std::size_t place) {
    return row.at(place).to_number<std::uint64_t>();
}

[[nodiscard]] inline std::uint64_t number_in(const boost::json::object& object, const char* name) {
    return object.at(name).to_number<std::uint64_t>();
}

[[nodiscard]] inline std::string text_of(const boost::json::value& value) {
    return printable(std::string_view(value.as_string()));
}

}  // namespace lagtrap::calls
