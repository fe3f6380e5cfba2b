// What signing in with a password or at a provider needs: cookies, the authenticator and limits of
// attempts.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "server/accounts/audit.hpp"
#include "server/accounts/authenticator.hpp"
#include "server/accounts/places_of_senders.hpp"
#include "server/accounts/sign_in_limits.hpp"
#include "server/api/account_routes.hpp"
#include "server/api/base_path.hpp"
#include "server/api/oidc_routes.hpp"
#include "server/api/session_cookie.hpp"
#include "server/ingest/refusal.hpp"

namespace lagtrap::server {

struct Parts;

// Any thread. Arguments of the constructor must outlive it.
class SignIns {
  public:
    SignIns(const Parts& parts, const BasePath& base, Audit& audit);

    [[nodiscard]] Authenticator& authenticator() { return authenticator_; }
    // The cookie of sessions.
    [[nodiscard]] const SessionCookie& cookie() const { return cookie_; }
    // For the routes; they refer to this object.
    [[nodiscard]] SignInParts parts();
    [[nodiscard]] OidcParts oidc_parts();

    // A place in the queue of the threads that hash passwords, released with its last reference.
    // `address` is the sender of the request. Refuses a sender who has all of its places, so that
    // one sender cannot fill the queue.
    [[nodiscard]] std::variant<std::shared_ptr<void>, Refusal> take_place(
        const std::string& address);

  private:
    const Parts& parts_;
    const BasePath& base_;
    Audit& audit_;
    const SessionCookie cookie_;
    const SessionCookie pending_cookie_;  // while a browser is at the provider
    Authenticator authenticator_;
    SignInLimits limits_;
    PlacesOfSenders places_;
};

}  // namespace lagtrap::server
