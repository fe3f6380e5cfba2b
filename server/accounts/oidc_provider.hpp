// A provider of OpenID Connect: where people are sent to sign in, and what it then says of them (authorization code with PKCE).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/id_token.hpp"
#include "server/accounts/oidc_settings.hpp"

namespace lagtrap::server {

// Who is vouched for.
struct OidcPerson {
    std::string subject;       // issuer and subject: theirs for good
    std::string name;          // for the account
    std::optional<Role> role;  // nothing: none of their groups may do anything here
    std::vector<std::string> groups;
};

// Any thread. Asks the provider when it has to, each time for ten seconds at most and for 1 MiB at most. What it says of itself
// is kept for an hour, its keys too; a token by a key that is not among them fetches them anew, at most once a minute.
class OidcProvider {
  public:
    explicit OidcProvider(OidcSettings settings) : settings_(std::move(settings)) {}

    [[nodiscard]] const OidcSettings& settings() const { return settings_; }

    // Where to send a browser. `secret` (random_secret()) stays with that browser: state, nonce and verifier are made of it.
    [[nodiscard]] Result<std::string> sign_in_address(const std::string& secret, const std::string& redirect_uri);
    // What comes back in the address as "state", for that secret.
    [[nodiscard]] static std::string state_of(const std::string& secret);
    // Exchanges the code. Denied for what the provider refuses or what is wrong with its token; other errors where it does not
    // answer as it should.
    [[nodiscard]] Result<OidcPerson> person_of(const std::string& code, const std::string& secret,
                                               const std::string& redirect_uri, std::uint64_t now_realtime_ns);

  private:
    struct Addresses {
        std::string authorization, token, keys;
        bool secret_in_body = false;
    };
    [[nodiscard]] Result<Addresses> addresses();
    enum class Freshness { Kept, New };
    [[nodiscard]] Result<std::vector<SigningKey>> keys(const std::string& address, Freshness freshness);
    [[nodiscard]] Result<std::string> fetch_token(const Addresses& addresses, const std::string& code,
                                                  const std::string& secret, const std::string& redirect_uri);

    const OidcSettings settings_;
    std::mutex mutex_;
    Addresses addresses_;
    std::uint64_t addresses_ns_ = 0;  // when they were asked for, monotonic; 0: never
    std::vector<SigningKey> keys_;
    std::uint64_t keys_ns_ = 0;
};

}  // namespace lagtrap::server
