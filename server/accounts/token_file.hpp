// A file of token digests: who may do what, without accounts and without a database. The tokens themselves are known to their owners alone.
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
    std::string token;  // to be shown once
    std::string line;   // for the token file: "NAME SCOPE TOKEN_SHA256"
};
// 256 random bits. `name` is 1 to 64 of letters, digits, dot, dash and underscore.
[[nodiscard]] Result<FreshToken> make_token(const std::string& name, Right right);

// Immutable; free to be used from any thread.
class TokenTable {
  public:
    // Lines "NAME SCOPE TOKEN_SHA256"; empty ones and those that begin with # are skipped. Names are unique. Errors
    // name the line.
    [[nodiscard]] static Result<TokenTable> parse(std::string_view text);
    // At most 1 MiB; an error if every user may write to the file.
    [[nodiscard]] static Result<TokenTable> load(const std::string& path);

    // Takes the same time for every token of the same length.
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

// The token in an Authorization header: "Bearer TOKEN", or the password of "Basic BASE64", which browsers send.
// Empty if there is none.
[[nodiscard]] std::string token_of_header(std::string_view authorization);

// At most 4096 letters; empty for what is no base64.
[[nodiscard]] std::string decode_base64(std::string_view text);

}  // namespace lagtrap::server
