#include "server/accounts/id_token.hpp"

#include <cjose/cjose.h>

#include <algorithm>
#include <array>
#include <memory>

#include <boost/json.hpp>

#include "core/text.hpp"
#include "server/accounts/json_text.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t id_token_limit_bytes = 64 * 1024;
constexpr std::size_t keys_limit = 64;
constexpr std::size_t groups_limit = 1000;
constexpr std::size_t text_limit_bytes = 256;
constexpr std::size_t smallest_modulus_letters = 342;  // 2048 bits in base64url
constexpr std::uint64_t clock_difference_s = 60;
constexpr std::array algorithms{"RS256", "RS384", "RS512", "PS256", "PS384",
                                "PS512", "ES256", "ES384", "ES512"};

struct Release {
    void operator()(cjose_jws_t* jws) const { cjose_jws_release(jws); }
    void operator()(cjose_jwk_t* jwk) const { cjose_jwk_release(jwk); }
};
using Jws = std::unique_ptr<cjose_jws_t, Release>;
using Jwk = std::unique_ptr<cjose_jwk_t, Release>;

Error denied(std::string what) {
    return make_error(ErrorKind::Denied, "the ID token " + std::move(what));
}

std::string header_of(cjose_jws_t* jws, const char* name) {
    cjose_err error{};
    const char* value = cjose_header_get(cjose_jws_get_protected(jws), name, &error);
    return value == nullptr ? std::string() : std::string(value);
}

bool may_sign(const json::object& key) {
    const std::string use = text_of(key, "use"), type = text_of(key, "kty");
    if (!use.empty() && use != "sig") return false;
    return type == "EC" || (type == "RSA" && text_of(key, "n").size() >= smallest_modulus_letters);
}

// Only algorithms of the key's own type are accepted, whatever the token claims.
bool fits(const SigningKey& key, const std::string& algorithm) {
    const bool elliptic = text_of(json::parse(key.json).as_object(), "kty") == "EC";
    return elliptic == algorithm.starts_with("ES");
}

bool is_signed_by(cjose_jws_t* jws, const SigningKey& key) {
    cjose_err error{};
    const Jwk jwk(cjose_jwk_import(key.json.data(), key.json.size(), &error));
    return jwk && cjose_jws_verify(jws, jwk.get(), &error);
}

Status check_signature(cjose_jws_t* jws, const std::vector<SigningKey>& keys) {
    const std::string algorithm = header_of(jws, CJOSE_HDR_ALG), id = header_of(jws, CJOSE_HDR_KID);
    if (std::find(algorithms.begin(), algorithms.end(), algorithm) == algorithms.end())
        return denied("is signed by \"" + printable(algorithm).substr(0, 32) +
                      "\"; expected RS, PS or ES");
    bool known = false;
    for (const SigningKey& key : keys) {
        if ((!id.empty() && key.id != id) || !fits(key, algorithm)) continue;
        known = true;
        if (is_signed_by(jws, key)) return success();
    }
    if (!known)
        return make_error(ErrorKind::NotFound,
                          "the ID token is signed by a key that the provider does not show");
    return denied("has a wrong signature");
}

std::optional<std::uint64_t> seconds_of(const json::object& claims, std::string_view name) {
    const json::value* value = claims.if_contains(name);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    const double seconds = value->to_number<double>();
    if (!(seconds >= 0) || seconds > 1e12) return std::nullopt;
    return static_cast<std::uint64_t>(seconds);
}

Status check_audience(const json::object& claims, const std::string& client_id) {
    const json::value* audience = claims.if_contains("aud");
    bool ours = false;
    std::size_t others = 0;
    if (audience != nullptr && audience->is_string()) {
        ours = audience->get_string() == client_id;
    } else if (audience != nullptr && audience->is_array()) {
        for (const json::value& entry : audience->get_array())
            (entry.is_string() && entry.get_string() == client_id ? ours = true : ++others);
    }
    const std::string party = text_of(claims, "azp");
    if (!ours || (others > 0 && party.empty()) || (!party.empty() && party != client_id))
        return denied("is for another client than " + client_id);
    return success();
}

Status check_claims(const json::object& claims, const IdTokenQuestion& question) {
    if (text_of(claims, "iss") != question.issuer)
        return denied("is by " + printable(text_of(claims, "iss")).substr(0, text_limit_bytes) +
                      ", not by " + question.issuer);
    TRY(check_audience(claims, question.client_id));
    const auto expires_s = seconds_of(claims, "exp"), issued_s = seconds_of(claims, "iat");
    if (!expires_s || !issued_s) return denied("lacks its times (exp, iat)");
    if (*expires_s + clock_difference_s <= question.now_s)
        return denied("has expired; do the clocks differ?");
    if (*issued_s > question.now_s + clock_difference_s)
        return denied("is of the future; do the clocks differ?");
    if (const auto begins_s = seconds_of(claims, "nbf");
        begins_s && *begins_s > question.now_s + clock_difference_s)
        return denied("is not valid yet; do the clocks differ?");
    if (question.nonce.empty() || text_of(claims, "nonce") != question.nonce)
        return denied("is of another sign-in (nonce)");
    return success();
}

}  // namespace

Result<std::vector<SigningKey>> read_key_set(std::string_view text) {
    boost::system::error_code failed;
    const json::value value = json::parse(text, failed);
    const json::value* listed =
        !failed && value.is_object() ? value.get_object().if_contains("keys") : nullptr;
    if (listed == nullptr || !listed->is_array())
        return make_error(ErrorKind::Invalid, "the provider's keys are no JSON Web Key Set");
    std::vector<SigningKey> keys;
    for (const json::value& entry : listed->get_array()) {
        if (keys.size() == keys_limit) break;
        if (!entry.is_object() || !may_sign(entry.get_object())) continue;
        keys.push_back({text_of(entry.get_object(), "kid"), json::serialize(entry)});
    }
    return keys;
}

Result<IdTokenFacts> check_id_token(std::string_view token, const std::vector<SigningKey>& keys,
                                    const IdTokenQuestion& question) {
    if (token.size() > id_token_limit_bytes) return denied("is larger than 64 KiB");
    cjose_err error{};
    const Jws jws(cjose_jws_import(token.data(), token.size(), &error));
    if (!jws) return denied("is none");
    TRY(check_signature(jws.get(), keys));
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    if (!cjose_jws_get_plaintext(jws.get(), &bytes, &size, &error)) return denied("cannot be read");
    boost::system::error_code failed;
    const json::value value =
        json::parse(std::string_view(reinterpret_cast<const char*>(bytes), size), failed);
    if (failed || !value.is_object()) return denied("holds no JSON object");
    const json::object& claims = value.get_object();
    TRY(check_claims(claims, question));
    IdTokenFacts facts;
    facts.subject = text_of(claims, "sub");
    if (facts.subject.empty() || facts.subject.size() > text_limit_bytes)
        return denied("does not say whose it is (sub)");
    facts.name = text_of(claims, question.name_claim);
    const json::value* groups = claims.if_contains(question.groups_claim);
    if (groups != nullptr && groups->is_string()) facts.groups.emplace_back(groups->get_string());
    if (groups != nullptr && groups->is_array())
        for (const json::value& group : groups->get_array())
            if (group.is_string() && facts.groups.size() < groups_limit)
                facts.groups.emplace_back(group.get_string());
    return facts;
}

}  // namespace lagtrap::server
