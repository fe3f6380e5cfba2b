// Where a server lies below other pages of its host: "/lagtrap" of https://intranet.example/lagtrap/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::server {

// Immutable.
class BasePath {
  public:
    BasePath() = default;  // the server has its host for itself
    // "" and "/" are no base path; else "/" and parts of letters, digits, "-", "_", "." and "~", at most 200 bytes.
    [[nodiscard]] static Result<BasePath> parse(std::string_view text);

    // Without a slash at its end; empty where there is none.
    [[nodiscard]] const std::string& text() const { return text_; }
    // The target as the routes know it: "/lagtrap/events?x" gives "/events?x". Nothing for what does not lie below, which
    // /healthz and /metrics of the host always do: who asks for them often comes past the proxy.
    [[nodiscard]] std::optional<std::string_view> inner(std::string_view target) const;
    // Whether the target is what people type when they leave out the end: "/" and "/lagtrap".
    [[nodiscard]] bool is_short_of(std::string_view target) const;

  private:
    std::string text_;
};

}  // namespace lagtrap::server
