// Authentication: session cookies, machine tokens, and signing in and out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/principal.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

inline constexpr std::chrono::hours session_idle_limit{12};
inline constexpr std::chrono::hours session_life{7 * 24};

struct SignedIn {
    std::string secret;  // for the cookie; not shown anywhere else
    std::uint64_t expires_realtime_ns = 0;
};

// A change that a single sign-on made to accounts, with its name in the audit log: "add account",
// "change role", "join team" or "leave team".
struct AccountChange {
    const char* action;
    std::string object;
    std::string detail;
};

struct SignedInByProvider {
    SignedIn session;
    std::vector<AccountChange> changes;
};

// Verifies tokens, sessions and passwords. Any thread; blocks on the store. `now_ns` is the wall
// clock. An error means that the store did not answer.
class Authenticator {
  public:
    explicit Authenticator(const Store& store)
        : accounts_(store.accounts()), tokens_(store.tokens()), teams_(store.teams()) {}

    // nullopt if the token is unknown or expired.
    [[nodiscard]] Result<std::optional<Principal>> of_token(std::string_view text,
                                                            std::uint64_t now_ns);
    // nullopt if there is no such session, it was idle for session_idle_limit, or it is older than
    // session_life. If any team exists, an account without the admin role sees only what its teams
    // see, and nothing if it is in no team.
    [[nodiscard]] Result<std::optional<Principal>> of_session(std::string_view secret,
                                                              std::uint64_t now_ns);

    // Takes 46 MiB and 50 ms, whether or not the account exists. nullopt if the account or the
    // password is wrong.
    [[nodiscard]] Result<std::optional<SignedIn>> sign_in(const std::string& account,
                                                          std::string_view password,
                                                          const std::string& address,
                                                          std::uint64_t now_ns);
    // Signs in a person whom an identity provider vouches for as `subject`. The first sign-in
    // creates the account; each sign-in sets its role and its teams (by `groups`). nullopt if the
    // name belongs to somebody else's account, or if the account is disabled.
    [[nodiscard]] Result<std::optional<SignedInByProvider>> sign_in_known(
        const std::string& name, const std::string& subject, Role role,
        const std::vector<std::string>& groups, const std::string& address, std::uint64_t now_ns);
    // Changes the password of the session's account and ends its other sessions. False if `old` is
    // wrong; that takes as long as if it were right. Check `fresh` with check_password() first.
    [[nodiscard]] Result<bool> change_password(const Principal& principal, std::string_view old,
                                               std::string_view fresh);
    [[nodiscard]] Status sign_out(const Principal& principal);

    // Whether the store has neither accounts nor tokens.
    [[nodiscard]] Result<bool> knows_nobody();

  private:
    [[nodiscard]] Status follow_groups(const std::string& name,
                                       const std::vector<std::string>& groups,
                                       std::vector<AccountChange>& changes);
    [[nodiscard]] Status limit_to_teams(Principal& principal);
    [[nodiscard]] Result<SignedIn> open_session(const std::string& name, const std::string& address,
                                                std::uint64_t now_ns);

    const AccountStore accounts_;
    const TokenStore tokens_;
    const TeamStore teams_;
};

// The value of a cookie in a Cookie header; empty if it is not there.
[[nodiscard]] std::string_view find_cookie(std::string_view header, std::string_view name);

}  // namespace lagtrap::server
