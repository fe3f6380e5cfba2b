// What a trace of functions counted in a delay's process, for its page.
#pragma once

#include <boost/json/value.hpp>

#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {

inline constexpr std::size_t traced_functions_limit = 20;

// Those with the most own time, and the longest single call of each with the path to it. null: they were not traced.
[[nodiscard]] boost::json::value traced_functions_json(const trace::SystemFile& system, const trace::Delay& delay);

}  // namespace lagtrap::server
