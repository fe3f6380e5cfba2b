// Signing in by a provider of OpenID Connect: to it, and back.
#pragma once

#include "server/accounts/oidc_provider.hpp"
#include "server/api/account_routes.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"

namespace lagtrap::server {

struct OidcParts {
    SignInParts sign_in;
    OidcProvider* provider = nullptr;  // nothing: people have passwords alone
    const SessionCookie& pending;      // what a browser keeps while it is at the provider
    const BasePath& base;
    std::string redirect_uri;
    const std::function<void(const std::string&)>& log;
};

// Whether there is a provider, and what it is called.
[[nodiscard]] Reply get_sign_in_ways(const OidcProvider* provider);
// Sends the browser there; "to" is the page that it wants.
[[nodiscard]] Reply begin_oidc(const OidcParts& parts, const Route& route, const Request& request);
// Where it comes back to. Whatever goes wrong, people land on the page to sign in, which says it in words; the log says more.
[[nodiscard]] Reply finish_oidc(const OidcParts& parts, const Route& route, const Request& request);

}  // namespace lagtrap::server
