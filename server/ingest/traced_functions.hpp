// Counts and times of traced functions in a delay's process, for its page.
#pragma once

#include <boost/json/value.hpp>

#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {

inline constexpr std::size_t traced_functions_limit = 20;

// The functions with the most own time, each with its longest call and the path to it. null if
// functions were not traced.
[[nodiscard]] boost::json::value traced_functions_json(const trace::SystemFile& system,
                                                       const trace::Delay& delay);

}  // namespace lagtrap::server
