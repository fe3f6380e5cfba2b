// Passwords: argon2id by libsodium, 46 MiB and one pass (the second of OWASP's recommended settings; 49 ms here).
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::server {

inline constexpr std::size_t password_shortest = 12;
inline constexpr std::size_t password_longest_bytes = 1024;

// At least twelve letters (of UTF-8) and at most 1024 bytes; nothing else is asked of a password.
[[nodiscard]] Status check_password(std::string_view password);

// A PHC string, "$argon2id$...". Takes 46 MiB and about 50 ms; an error if there is no memory.
[[nodiscard]] Result<std::string> hash_password(std::string_view password);

enum class PasswordMatch {
    No,
    Yes,
    YesRehash,  // right, but hashed with other settings than today's: hash it anew
};
// `hash` empty: compares with a hash that nothing matches, so that an unknown account takes as long as a known one.
[[nodiscard]] PasswordMatch match_password(std::string_view hash, std::string_view password);

}  // namespace lagtrap::server
