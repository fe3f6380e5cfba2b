// Token files: the digests of tokens and their scopes, for servers without accounts or a database.
// Only the tokens' owners have the tokens themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/principal.hpp"

namespace lagtrap::server {

// "upload", "read" or "admin".
[[nodiscard]] Result<Right> parse_right(std::string_view text);

struct FreshToken {
    std::string token;  // shown once
    std::string line;   // for the token file: "NAME SCOPE TOKEN_SHA256"
};
// 256 random bits. `name` is 1 to 64 letters, digits, dots, dashes and underscores.
[[nodiscard]] Result<FreshToken> make_token(const std::string& name, Right right);

// The tokens of a token file. Immutable; any thread.
class TokenTable {
  public:
    // Lines "NAME SCOPE TOKEN_SHA256"; skips empty lines and those that begin with "#". Names must
    // be unique. Errors name the line.
    [[nodiscard]] static Result<TokenTable> parse(std::string_view text);
    // At most 1 MiB; an error if every user may write to the file.
    [[nodiscard]] static Result<TokenTable> load(const std::string& path);

    // Takes the same time for all tokens of the same length.
    [[nodiscard]] std::optional<Principal> find(std::string_view token) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        std::string name;
        Right right;
        std::string digest;
    };
    std::vector<Entry> entries_;
};

// The token in an Authorization header: "Bearer TOKEN", or the password of "Basic BASE64", which
// browsers send. Empty if there is none.
[[nodiscard]] std::string token_of_header(std::string_view authorization);

// At most 4096 letters; empty if it is not valid base64.
[[nodiscard]] std::string decode_base64(std::string_view text);

}  // namespace lagtrap::server
