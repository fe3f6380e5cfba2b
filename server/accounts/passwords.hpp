// Passwords: argon2id by libsodium, 46 MiB and one pass (the second of OWASP's recommended settings; 49 ms here).
#pragma once

#include <atomic>
#include <cstdint>
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

// How many may be hashing or waiting for it: each takes 46 MiB. The caller runs them on few threads; whoever comes
// beyond the limit is to be sent away. Any thread.
class PasswordGate {
  public:
    explicit PasswordGate(std::uint32_t limit) : limit_(limit) {}

    // A place within the limit, given back when it goes.
    class Place {
      public:
        explicit Place(PasswordGate* gate) : gate_(gate) {}
        Place(Place&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
        Place& operator=(Place&&) = delete;
        ~Place() {
            if (gate_ != nullptr) --gate_->taken_;
        }
        [[nodiscard]] bool valid() const { return gate_ != nullptr; }

      private:
        PasswordGate* gate_;
    };
    [[nodiscard]] Place enter() {
        if (++taken_ <= limit_) return Place(this);
        --taken_;
        return Place(nullptr);
    }

  private:
    const std::uint32_t limit_;
    std::atomic<std::uint32_t> taken_{0};
};

}  // namespace lagtrap::server
