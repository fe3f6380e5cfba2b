// ID tokens of OpenID Connect: signed JSON that says who signed in. Validated as in OpenID Connect
// Core 1.0, section 3.1.3.7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// A public key of the provider.
struct SigningKey {
    std::string id;    // may be empty
    std::string json;  // as a JWK
};

// The signing keys of a JSON Web Key Set: RSA of at least 2048 bits and EC, at most 64. Skips
// others.
[[nodiscard]] Result<std::vector<SigningKey>> read_key_set(std::string_view text);

struct IdTokenQuestion {
    std::string issuer;
    std::string client_id;
    std::string nonce;
    std::string name_claim;
    std::string groups_claim;
    std::uint64_t now_s = 0;  // since 1970
};

struct IdTokenFacts {
    std::string subject;
    std::string name;                 // empty if the token has none
    std::vector<std::string> groups;  // at most 1,000
};

// Verifies signature and claims. NotFound if the token's key id is not among `keys`: the provider
// may have new keys. Denied for any other defect. Accepts RS, PS and ES with SHA-256 to SHA-512,
// and a clock difference of a minute.
[[nodiscard]] Result<IdTokenFacts> check_id_token(std::string_view token,
                                                  const std::vector<SigningKey>& keys,
                                                  const IdTokenQuestion& question);

}  // namespace lagtrap::server
