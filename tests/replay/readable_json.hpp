// JSON with readable differences: a value on one line if it fits, otherwise its parts on separate
// lines.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace lagtrap::test {

[[nodiscard]] std::string readable_json(const boost::json::value& value);

}  // namespace lagtrap::test
