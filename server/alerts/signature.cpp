#include "server/alerts/signature.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "server/alerts/base64.hpp"

namespace lagtrap::server {
namespace {

constexpr std::string_view start = "whsec_";

std::optional<std::string> key_of(std::string_view secret) {
    if (!secret.starts_with(start)) return std::nullopt;
    return read_base64(secret.substr(start.size()));
}

}  // namespace

std::string make_webhook_secret() {
    std::array<unsigned char, 32> bytes;
    // Secrets must not be handed out without a source of random numbers.
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) std::abort();
    return std::string(start) + base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status check_webhook_secret(const std::string& secret) {
    constexpr std::size_t min_bytes = 24, max_bytes = 64;
    const auto key = key_of(secret);
    if (key && key->size() >= min_bytes && key->size() <= max_bytes) return success();
    return make_error(ErrorKind::Invalid,
                      "\"secret\": expected whsec_ and the Base64 of 24 to 64 bytes; without one "
                      "the server makes one");
}

std::string webhook_signature(const std::string& secret, const std::string& id,
                              std::uint64_t realtime_s, const std::string& body) {
    const std::string key = key_of(secret).value_or("");
    const std::string text = id + "." + std::to_string(realtime_s) + "." + body;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
    return "v1," + base64({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace lagtrap::server
