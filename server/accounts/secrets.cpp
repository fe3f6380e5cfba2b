#include "server/accounts/secrets.hpp"

#include <sodium.h>

#include <array>
#include <cstdlib>

namespace lagtrap::server {
namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t secret_letters = 43;
constexpr std::size_t id_bytes = 6;
constexpr std::string_view token_start = "ltu_";

void fill(unsigned char* bytes, std::size_t size) {
    // Secrets must not be handed out without a source of random numbers.
    if (sodium_init() < 0) std::abort();
    randombytes_buf(bytes, size);
}

bool consists_of(std::string_view text, std::string_view letters) {
    return text.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

std::string random_secret() {
    std::array<unsigned char, secret_bytes> bytes;
    fill(bytes.data(), bytes.size());
    std::array<char, secret_letters + 1> text;
    sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return {text.data(), secret_letters};
}

std::string sha256_base64url(std::string_view text) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
    crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size());
    std::array<char, secret_letters + 1> letters;
    sodium_bin2base64(letters.data(), letters.size(), digest.data(), digest.size(),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return {letters.data(), secret_letters};
}

std::string random_id() {
    std::array<unsigned char, id_bytes> bytes;
    fill(bytes.data(), bytes.size());
    std::array<char, 2 * id_bytes + 1> text;
    sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
    return {text.data(), 2 * id_bytes};
}

bool equal_secrets(std::string_view a, std::string_view b) {
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

MachineToken MachineToken::make() { return {random_id(), random_secret()}; }

std::optional<MachineToken> MachineToken::parse(std::string_view text) {
    if (!text.starts_with(token_start)) return std::nullopt;
    text.remove_prefix(token_start.size());
    if (text.size() != 2 * id_bytes + 1 + secret_letters || text[2 * id_bytes] != '_')
        return std::nullopt;
    MachineToken token{std::string(text.substr(0, 2 * id_bytes)),
                       std::string(text.substr(2 * id_bytes + 1))};
    if (!consists_of(token.id, "0123456789abcdef") ||
        !consists_of(token.secret,
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
        return std::nullopt;
    return token;
}

}  // namespace lagtrap::server
