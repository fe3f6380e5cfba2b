// The path prefix of a server that shares its host with other pages: "/lagtrap" in
// https://intranet.example/lagtrap/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::server {

// A validated path prefix. Immutable.
class BasePath {
  public:
    BasePath() = default;  // no prefix: the server has the host to itself
    // "" and "/" mean no prefix. Otherwise "/" and segments of letters, digits, "-", "_", "." and
    // "~", at most 200 bytes.
    [[nodiscard]] static Result<BasePath> parse(std::string_view text);

    // Without a trailing slash; empty if there is no prefix.
    [[nodiscard]] const std::string& text() const { return text_; }
    // Removes the prefix: "/lagtrap/events?x" gives "/events?x". nullopt if the target does not
    // have it, except for /healthz and /metrics, whose clients often bypass the proxy.
    [[nodiscard]] std::optional<std::string_view> inner(std::string_view target) const;
    // Whether the target lacks only the last part of the prefix, as when people type it: "/" or
    // "/lagtrap".
    [[nodiscard]] bool is_short_of(std::string_view target) const;

  private:
    std::string text_;
};

}  // namespace lagtrap::server
