// Fields of a request at the control socket. Each error says what was found and what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

inline constexpr std::int64_t longest_request_ns = 24LL * 3600 * 1'000'000'000;

[[nodiscard]] Result<std::int64_t> number_in(const boost::json::object& request, const char* name,
                                             std::int64_t otherwise, std::int64_t least, std::int64_t most);
// Empty where it is absent.
[[nodiscard]] Result<std::string> text_in(const boost::json::object& request, const char* name);
[[nodiscard]] Result<std::vector<std::string>> texts_in(const boost::json::object& request, const char* name);

}  // namespace lagtrap::daemon
