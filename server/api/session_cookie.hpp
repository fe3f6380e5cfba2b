// The cookie of a session.
#pragma once

#include <cstdint>
#include <string>

#include "server/api/base_path.hpp"

namespace lagtrap::server {

// Of a server with a base path it goes to the pages below that alone. Immutable.
class SessionCookie {
  public:
    explicit SessionCookie(const BasePath& base) : path_(base.text()) {}

    // Over TLS "__Host-lagtrap", which a browser takes for a whole host alone, or "__Secure-lagtrap" below a base path; a
    // browser takes neither over plain HTTP, where it is "lagtrap".
    [[nodiscard]] const char* name(bool secure) const;
    // The value of Set-Cookie; without a secret and with 0 seconds it takes the cookie away.
    [[nodiscard]] std::string text(bool secure, const std::string& secret, std::int64_t seconds) const;

  private:
    std::string path_;
};

}  // namespace lagtrap::server
