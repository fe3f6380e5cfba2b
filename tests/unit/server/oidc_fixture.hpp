// A provider that knows one person, and settings to sign in there.
#pragma once

#include <string>

#include <boost/json.hpp>

#include "core/clock.hpp"
#include "server/accounts/oidc_provider.hpp"
#include "server/accounts/secrets.hpp"
#include "tests/unit/server/fake_provider.hpp"
#include "tests/unit/server/token_signer.hpp"

namespace lagtrap::server::test {

class OidcFixture {
  public:
    static constexpr const char* metadata_path = "/.well-known/openid-configuration";

    OidcFixture() {
        describe_self({});
        fake.answer("/keys", "200 OK", "{\"keys\":[" + signer().public_json() + "]}");
    }
    // Making an RSA key takes a second on a busy machine, so all tests share one.
    static const Signer& signer() {
        static const Signer signer("k");
        return signer;
    }
    // The provider's metadata with these changes.
    void describe_self(const boost::json::object& changes) {
        boost::json::object facts{{"issuer", fake.url()},
                                  {"authorization_endpoint", fake.url() + "/begin"},
                                  {"token_endpoint", fake.url() + "/token"},
                                  {"jwks_uri", fake.url() + "/keys"}};
        for (const auto& [name, value] : changes) facts[name] = value;
        fake.answer(metadata_path, "200 OK", boost::json::serialize(facts));
    }
    [[nodiscard]] OidcSettings settings() const {
        OidcSettings settings;
        settings.issuer = fake.url();
        settings.client_id = "lag trap";
        settings.client_secret = "sec:ret";
        settings.title = "Login";
        settings.scopes = "openid profile";
        settings.roles = {{"staff", Role::Reader}, {"admins", Role::Admin}};
        return settings;
    }
    // Answers the exchange of a code with a token for the browser that has this secret.
    void vouch(const std::string& secret, const boost::json::object& changes = {}) {
        const std::uint64_t now_s = ClockSnapshot::take().realtime_ns / 1'000'000'000ULL;
        boost::json::object claims{{"iss", fake.url()},
                                   {"aud", "lag trap"},
                                   {"sub", "17"},
                                   {"exp", now_s + 300},
                                   {"iat", now_s},
                                   {"nonce", sha256_base64url("nonce " + secret)},
                                   {"preferred_username", "ann"},
                                   {"groups", {"staff", "admins"}}};
        for (const auto& [name, value] : changes) claims[name] = value;
        fake.answer(
            "/token", "200 OK",
            boost::json::serialize(boost::json::object{{"id_token", signer().sign(claims)}}));
    }

    FakeProvider fake;
};

}  // namespace lagtrap::server::test
