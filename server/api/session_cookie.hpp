// The cookie of a session.
#pragma once

#include <cstdint>
#include <string>

#include "server/api/base_path.hpp"

namespace lagtrap::server {

// Of a server with a base path it goes to the pages below that alone. Immutable.
class SessionCookie {
  public:
    // `kind`: letters behind the name of another cookie of the server, such as "-oidc".
    explicit SessionCookie(const BasePath& base, const std::string& kind = {})
        : path_(base.text()), plain_("lagtrap" + kind), secure_((path_.empty() ? "__Host-" : "__Secure-") + plain_) {}

    // Over TLS "__Host-lagtrap", which a browser takes for a whole host alone, or "__Secure-lagtrap" below a base path; a
    // browser takes neither over plain HTTP, where it is "lagtrap".
    [[nodiscard]] const std::string& name(bool secure) const { return secure ? secure_ : plain_; }
    // The value of Set-Cookie; without a secret and with 0 seconds it takes the cookie away.
    [[nodiscard]] std::string text(bool secure, const std::string& secret, std::int64_t seconds) const;

  private:
    std::string path_;
    std::string plain_;
    std::string secure_;
};

}  // namespace lagtrap::server
