#include "server/api/session_cookie.hpp"

namespace lagtrap::server {

std::string SessionCookie::text(bool secure, const std::string& secret,
                                std::int64_t seconds) const {
    return name(secure) + "=" + secret + "; Path=" + path_ +
           "/; HttpOnly; SameSite=Lax; Max-Age=" + std::to_string(seconds) +
           (secure ? "; Secure" : "");
}

}  // namespace lagtrap::server
