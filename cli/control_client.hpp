// Talks to the daemon over its control socket: a JSON object and a newline each way, one request a connection.
#pragma once

#include <filesystem>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::cli {

inline constexpr std::size_t answer_limit_bytes = 4 * 1024 * 1024;

// Sends the request and waits up to 10 seconds for the answer, which is an object with "ok":true. Errors say what
// to do: start the daemon (NotFound), get the right (Denied), what the daemon itself refused (Invalid).
[[nodiscard]] Result<boost::json::object> ask_daemon(const std::filesystem::path& socket,
                                                     const boost::json::object& request);

}  // namespace lagtrap::cli
