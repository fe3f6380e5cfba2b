#include "server/accounts/passwords.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "server/accounts/secrets.hpp"

namespace lagtrap::server {
namespace {

constexpr unsigned long long passes = 1;
constexpr std::size_t memory_bytes = 46ULL << 20;

using Hash = std::array<char, crypto_pwhash_STRBYTES>;

// Copies the hash into the fixed-size, zero-terminated buffer that libsodium expects. False if it
// is too long.
bool copy_hash(std::string_view text, Hash& hash) {
    if (text.size() >= hash.size()) return false;
    hash.fill('\0');
    std::copy(text.begin(), text.end(), hash.begin());
    return true;
}

const std::string& hash_of_nobody() {
    static const std::string hash = [] {
        auto made = hash_password(random_secret());
        return made ? *made : std::string();
    }();
    return hash;
}

}  // namespace

Status check_password(std::string_view password) {
    const auto letters = std::count_if(password.begin(), password.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
    });
    if (static_cast<std::size_t>(letters) < password_shortest)
        return make_error(ErrorKind::Invalid,
                          "the password has " + std::to_string(letters) + " letters; at least " +
                              std::to_string(password_shortest) + " are needed");
    if (password.size() > password_longest_bytes)
        return make_error(
            ErrorKind::TooLarge,
            "the password is longer than " + std::to_string(password_longest_bytes) + " bytes");
    return success();
}

Result<std::string> hash_password(std::string_view password) {
    if (sodium_init() < 0) return make_error(ErrorKind::System, "libsodium does not start");
    Hash hash;
    if (crypto_pwhash_str_alg(hash.data(), password.data(), password.size(), passes, memory_bytes,
                              crypto_pwhash_ALG_ARGON2ID13) != 0)
        return system_error("hashing the password", ENOMEM);
    return std::string(hash.data());
}

PasswordMatch match_password(std::string_view hash, std::string_view password) {
    if (sodium_init() < 0) return PasswordMatch::No;
    Hash stored;
    const bool known = !hash.empty() && copy_hash(hash, stored);
    if (!known && !copy_hash(hash_of_nobody(), stored)) return PasswordMatch::No;
    const bool same =
        crypto_pwhash_str_verify(stored.data(), password.data(), password.size()) == 0;
    if (!known || !same) return PasswordMatch::No;
    return crypto_pwhash_str_needs_rehash(stored.data(), passes, memory_bytes) == 0
               ? PasswordMatch::Yes
               : PasswordMatch::YesRehash;
}

}  // namespace lagtrap::server
