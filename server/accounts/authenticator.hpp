// Proofs of who asks: sessions by cookie, machine tokens; and how one signs in and out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/principal.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

inline constexpr std::chrono::hours session_idle_limit{12};
inline constexpr std::chrono::hours session_life{7 * 24};

struct SignedIn {
    std::string secret;  // for the cookie; shown to nobody else
    std::uint64_t expires_realtime_ns = 0;
};

// What a sign-in by a provider changed of accounts, as the audit names it: "add account", "change role", "join team" or
// "leave team".
struct AccountChange {
    const char* action;
    std::string object;
    std::string detail;
};

struct SignedInByProvider {
    SignedIn session;
    std::vector<AccountChange> changes;
};

// Any thread; blocks on the store. `now_ns` is the wall clock. An error means that the store did not answer.
class Authenticator {
  public:
    explicit Authenticator(AccountStore& store) : store_(store) {}

    // Nothing if the token is unknown, or its time is over.
    [[nodiscard]] Result<std::optional<Principal>> of_token(std::string_view text, std::uint64_t now_ns);
    // Nothing if there is no such session, it was not used for session_idle_limit or is older than session_life. Where any
    // team exists, an account without the role admin sees what its teams see, and nothing if it is in no team.
    [[nodiscard]] Result<std::optional<Principal>> of_session(std::string_view secret, std::uint64_t now_ns);

    // Takes 46 MiB and 50 ms, whether the account exists or not. Nothing if account and password do not fit.
    [[nodiscard]] Result<std::optional<SignedIn>> sign_in(const std::string& account, std::string_view password,
                                                          const std::string& address, std::uint64_t now_ns);
    // Whoever `subject` is, by the word of a provider: their account is made at the first time, and has from then on the role
    // given here, and is in the teams of these groups. Nothing if the name is that of an account of somebody else, or if the account is disabled.
    [[nodiscard]] Result<std::optional<SignedInByProvider>> sign_in_known(const std::string& name,
                                                                          const std::string& subject, Role role,
                                                                          const std::vector<std::string>& groups,
                                                                          const std::string& address,
                                                                          std::uint64_t now_ns);
    // Of the account of a session, whose other sessions end. False, after as long, if `old` is not its password. `fresh` has
    // been checked (check_password()).
    [[nodiscard]] Result<bool> change_password(const Principal& principal, std::string_view old,
                                               std::string_view fresh);
    [[nodiscard]] Status sign_out(const Principal& principal);

    // Whether the store has neither accounts nor tokens.
    [[nodiscard]] Result<bool> knows_nobody();

  private:
    [[nodiscard]] Status follow_groups(const std::string& name, const std::vector<std::string>& groups,
                                       std::vector<AccountChange>& changes);
    [[nodiscard]] Status limit_to_teams(Principal& principal);
    [[nodiscard]] Result<SignedIn> open_session(const std::string& name, const std::string& address,
                                                std::uint64_t now_ns);

    AccountStore& store_;
};

// The value of a cookie in a Cookie header; empty if it is not there.
[[nodiscard]] std::string_view find_cookie(std::string_view header, std::string_view name);

}  // namespace lagtrap::server
