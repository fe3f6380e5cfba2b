// The session cookie.
#pragma once

#include <cstdint>
#include <string>

#include "server/api/base_path.hpp"

namespace lagtrap::server {

// With a base path, the cookie is limited to the pages below it. Immutable.
class SessionCookie {
  public:
    // `kind` is a suffix for the name of another cookie, such as "-oidc".
    explicit SessionCookie(const BasePath& base, const std::string& kind = {})
        : path_(base.text()),
          plain_("lagtrap" + kind),
          secure_((path_.empty() ? "__Host-" : "__Secure-") + plain_) {}

    // Over TLS, "__Host-lagtrap", which browsers accept only for a whole host, or
    // "__Secure-lagtrap" with a base path. Browsers accept neither over plain HTTP, where the name
    // is "lagtrap".
    [[nodiscard]] const std::string& name(bool secure) const { return secure ? secure_ : plain_; }
    // The value of Set-Cookie. An empty secret with 0 seconds deletes the cookie.
    [[nodiscard]] std::string text(bool secure, const std::string& secret,
                                   std::int64_t seconds) const;

  private:
    std::string path_;
    std::string plain_;
    std::string secure_;
};

}  // namespace lagtrap::server
