#include "server/api/session_cookie.hpp"

namespace lagtrap::server {

const char* SessionCookie::name(bool secure) const {
    if (!secure) return "lagtrap";
    return path_.empty() ? "__Host-lagtrap" : "__Secure-lagtrap";
}

std::string SessionCookie::text(bool secure, const std::string& secret, std::int64_t seconds) const {
    return std::string(name(secure)) + "=" + secret + "; Path=" + path_ +
           "/; HttpOnly; SameSite=Lax; Max-Age=" + std::to_string(seconds) + (secure ? "; Secure" : "");
}

}  // namespace lagtrap::server
