// ID tokens of OpenID Connect: signed JSON that says who signed in. Checked as OpenID Connect Core 1.0, 3.1.3.7, has it.
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

// Of a JSON Web Key Set those that sign, RSA from 2048 bits and EC, at most 64; others are left out.
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
    std::string name;                 // empty: the token does not say
    std::vector<std::string> groups;  // at most 1,000
};

// NotFound if it is signed by none of the keys' ids: the provider may have new ones. Denied for everything that is wrong with
// it. Accepted are RS, PS and ES with SHA-256 to SHA-512; clocks may differ by a minute.
[[nodiscard]] Result<IdTokenFacts> check_id_token(std::string_view token, const std::vector<SigningKey>& keys,
                                                  const IdTokenQuestion& question);

}  // namespace lagtrap::server
