// Client of an OpenID Connect provider: sends people there to sign in, and learns who they are
// (authorization code flow with PKCE).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/id_token.hpp"
#include "server/accounts/oidc_settings.hpp"

namespace lagtrap::server {

// A person the provider vouches for.
struct OidcPerson {
    std::string subject;       // issuer and subject; never changes
    std::string name;          // of the account
    std::optional<Role> role;  // nullopt: none of their groups has a role here
    std::vector<std::string> groups;
};

// Any thread. Queries the provider when needed, for at most 10 s and 1 MiB each. Caches its
// metadata and keys for an hour; a token signed by an unknown key refreshes the keys, at most once
// a minute.
class OidcProvider {
  public:
    explicit OidcProvider(OidcSettings settings) : settings_(std::move(settings)) {}

    [[nodiscard]] const OidcSettings& settings() const { return settings_; }

    // The address to redirect the browser to. `secret` (random_secret()) stays with that browser;
    // state, nonce and verifier are derived from it.
    [[nodiscard]] Result<std::string> sign_in_address(const std::string& secret,
                                                      const std::string& redirect_uri);
    // The value of "state" to expect in the redirect back, for that secret.
    [[nodiscard]] static std::string state_of(const std::string& secret);
    // Exchanges the code. Denied if the provider refuses it or its token is invalid; other errors
    // if the provider does not answer properly.
    [[nodiscard]] Result<OidcPerson> person_of(const std::string& code, const std::string& secret,
                                               const std::string& redirect_uri,
                                               std::uint64_t now_realtime_ns);

    enum class Freshness { Kept, New };
    // Whether what was fetched at `fetched_ns` (0: never) must be fetched again: after an hour, or,
    // if it must be new, after a minute.
    [[nodiscard]] static bool must_fetch(std::uint64_t fetched_ns, std::uint64_t now_ns,
                                         Freshness freshness);

  private:
    struct Addresses {
        std::string authorization, token, keys;
        bool secret_in_body = false;
    };
    [[nodiscard]] Result<Addresses> addresses();
    [[nodiscard]] Result<std::vector<SigningKey>> keys(const std::string& address,
                                                       Freshness freshness);
    [[nodiscard]] Result<std::string> fetch_token(const Addresses& addresses,
                                                  const std::string& code,
                                                  const std::string& secret,
                                                  const std::string& redirect_uri);

    const OidcSettings settings_;
    std::mutex mutex_;
    Addresses addresses_;
    std::uint64_t addresses_ns_ = 0;  // when they were fetched, monotonic; 0: never
    std::vector<SigningKey> keys_;
    std::uint64_t keys_ns_ = 0;
};

}  // namespace lagtrap::server
