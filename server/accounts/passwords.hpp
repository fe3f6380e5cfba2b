// Password hashing: argon2id from libsodium with 46 MiB and one pass, OWASP's second recommended
// setting (measured: 49 ms).
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::server {

inline constexpr std::size_t password_shortest = 12;
inline constexpr std::size_t password_longest_bytes = 1024;

// At least 12 characters (of UTF-8) and at most 1024 bytes; there are no other rules.
[[nodiscard]] Status check_password(std::string_view password);

// A PHC string, "$argon2id$...". Takes 46 MiB and about 50 ms; an error if memory is short.
[[nodiscard]] Result<std::string> hash_password(std::string_view password);

enum class PasswordMatch {
    No,
    Yes,
    YesRehash,  // right, but hashed with outdated settings: hash it again
};
// With an empty `hash`, compares with a hash that no password matches, so that an unknown account
// takes as long as a known one.
[[nodiscard]] PasswordMatch match_password(std::string_view hash, std::string_view password);

}  // namespace lagtrap::server
