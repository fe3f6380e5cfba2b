// Secrets that the server hands out: session cookies and machine tokens. The store only ever holds
// their SHA-256.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::server {

// 256 random bits as 43 letters of base64url.
[[nodiscard]] std::string random_secret();
// 48 random bits as 12 hexadecimal digits: the public part of a machine token.
[[nodiscard]] std::string random_id();

// SHA-256 as 43 letters of base64url.
[[nodiscard]] std::string sha256_base64url(std::string_view text);

// Compares in a time that does not depend on where they differ.
[[nodiscard]] bool equal_secrets(std::string_view a, std::string_view b);

// A machine token, "ltu_<id>_<secret>". The id finds its row, the secret proves it.
struct MachineToken {
    std::string id;
    std::string secret;

    [[nodiscard]] static MachineToken make();
    // nullopt if the text does not have that form.
    [[nodiscard]] static std::optional<MachineToken> parse(std::string_view text);
    [[nodiscard]] std::string text() const { return "ltu_" + id + "_" + secret; }
};

}  // namespace lagtrap::server
