// Routes for signing in and out, accounts, tokens and the audit log.
#pragma once

#include "server/accounts/audit.hpp"
#include "server/accounts/authenticator.hpp"
#include "server/accounts/sign_in_limits.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/api/session_cookie.hpp"
#include "server/store/account_store.hpp"
#include "server/store/edge_store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply get_session(const Principal& principal, const EdgeStore& edges);
struct SignInParts {
    Authenticator& authenticator;
    AccountStore store;
    Audit& audit;
    SignInLimits& limits;
    const SessionCookie& cookie;
};
// `sender` is the network_of_sender() of the client; failed attempts are limited by it.
[[nodiscard]] Reply sign_in(const SignInParts& parts, const std::string& sender,
                            const Request& request);
[[nodiscard]] Reply sign_out(const SignInParts& parts, const Principal& principal,
                             const Request& request);
// Changes the password of the session's account. A wrong password counts as a failed sign-in.
[[nodiscard]] Reply change_own_password(const SignInParts& parts, const std::string& sender,
                                        const Principal& principal, const Request& request);

[[nodiscard]] Reply list_accounts(const AccountStore& store);
[[nodiscard]] Reply add_account(const AccountStore& store, Audit& audit, const Principal& principal,
                                const Request& request);
[[nodiscard]] Reply delete_account(const AccountStore& store, Audit& audit,
                                   const Principal& principal, const Route& route,
                                   const Request& request);
[[nodiscard]] Reply list_tokens(const TokenStore& store);
[[nodiscard]] Reply add_token(const TokenStore& store, Audit& audit, const Principal& principal,
                              const Request& request);
[[nodiscard]] Reply delete_token(const TokenStore& store, Audit& audit, const Principal& principal,
                                 const Route& route, const Request& request);
// Newest first.
[[nodiscard]] Reply list_audit(const AuditStore& store, const Route& route);
// The whole log, as a file.
[[nodiscard]] Reply export_audit(const AuditStore& store, const Route& route);

}  // namespace lagtrap::server
