// Routes for single sign-on: to the OpenID Connect provider and back.
#pragma once

#include "server/accounts/oidc_provider.hpp"
#include "server/api/account_routes.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"

namespace lagtrap::server {

struct OidcParts {
    SignInParts sign_in;
    OidcProvider* provider = nullptr;  // null: passwords only
    const SessionCookie& pending;      // the cookie a browser keeps while it is at the provider
    const BasePath& base;
    std::string redirect_uri;
    const std::function<void(const std::string&)>& log;
};

// Whether there is a provider, and its title.
[[nodiscard]] Reply get_sign_in_ways(const OidcProvider* provider);
// Redirects the browser to the provider; "to" is the page to show afterwards.
[[nodiscard]] Reply begin_oidc(const OidcParts& parts, const Route& route, const Request& request);
// The provider redirects back here. On any error people land on the sign-in page, which shows a
// short reason; the log has details.
[[nodiscard]] Reply finish_oidc(const OidcParts& parts, const Route& route, const Request& request);

}  // namespace lagtrap::server
