// Signs ID tokens as an OpenID Connect provider does.
#pragma once

#include <cjose/cjose.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <boost/json.hpp>

namespace lagtrap::server::test {

// A provider's key pair, which signs tokens.
class Signer {
  public:
    explicit Signer(const std::string& id, const std::string& algorithm = "RS256", int bits = 2048)
        : id_(id), algorithm_(algorithm) {
        cjose_err error{};
        const auto* exponent = reinterpret_cast<const std::uint8_t*>("\x01\x00\x01");
        key_ = algorithm.starts_with("ES") ? cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error)
               : algorithm == "HS256"      ? cjose_jwk_create_oct_random(256, &error)
                                      : cjose_jwk_create_RSA_random(static_cast<std::size_t>(bits),
                                                                    exponent, 3, &error);
        cjose_jwk_set_kid(key_, id.data(), id.size(), &error);
    }
    Signer(const Signer&) = delete;
    Signer& operator=(const Signer&) = delete;
    ~Signer() { cjose_jwk_release(key_); }

    [[nodiscard]] std::string public_json() const {
        cjose_err error{};
        const std::unique_ptr<char, decltype(&std::free)> text(
            cjose_jwk_to_json(key_, false, &error), &std::free);
        return text.get();
    }
    [[nodiscard]] std::string sign(const boost::json::object& claims) const {
        cjose_err error{};
        cjose_header_t* header = cjose_header_new(&error);
        cjose_header_set(header, CJOSE_HDR_ALG, algorithm_.c_str(), &error);
        if (!id_.empty()) cjose_header_set(header, CJOSE_HDR_KID, id_.c_str(), &error);
        const std::string text = boost::json::serialize(claims);
        cjose_jws_t* jws = cjose_jws_sign(
            key_, header, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), &error);
        const char* compact = nullptr;
        cjose_jws_export(jws, &compact, &error);
        std::string token(compact);
        cjose_jws_release(jws);
        cjose_header_release(header);
        return token;
    }

  private:
    std::string id_, algorithm_;
    cjose_jwk_t* key_ = nullptr;
};

}  // namespace lagtrap::server::test
