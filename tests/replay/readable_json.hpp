// JSON for people who read a difference: a value on one line where it fits, else its parts on lines of their own.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace lagtrap::test {

[[nodiscard]] std::string readable_json(const boost::json::value& value);

}  // namespace lagtrap::test
