// Names users or containers that reached their limit, from a status answer.
#pragma once

#include <string>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

// "user joe (1001)", "container 4026532841", "unknown users": from the entry's `uid` or
// `namespace`.
[[nodiscard]] std::string limited_party(const boost::json::object& entry);

// The same for an entry that may name a process: "user joe (1001)", "process 4711 of user joe
// (1001)".
[[nodiscard]] std::string party_text(const boost::json::object& entry);

}  // namespace lagtrap::cli
