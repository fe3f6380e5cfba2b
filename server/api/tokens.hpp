// Who may do what: a file of token digests. The tokens themselves are known to their owners alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// Admin may do everything.
enum class Scope { Upload, Read, Admin };

// "upload", "read" or "admin".
[[nodiscard]] Result<Scope> parse_scope(std::string_view text);
[[nodiscard]] const char* scope_name(Scope scope);

struct FreshToken {
    std::string token;  // to be shown once
    std::string line;   // for the token file: "NAME SCOPE TOKEN_SHA256"
};
// 256 random bits. `name` is 1 to 64 of letters, digits, dot, dash and underscore.
[[nodiscard]] Result<FreshToken> make_token(const std::string& name, Scope scope);

// Immutable; free to be used from any thread.
class TokenTable {
  public:
    // Lines "NAME SCOPE TOKEN_SHA256"; empty ones and those that begin with # are skipped. Names are unique. Errors
    // name the line.
    [[nodiscard]] static Result<TokenTable> parse(std::string_view text);
    // At most 1 MiB; an error if every user may write to the file.
    [[nodiscard]] static Result<TokenTable> load(const std::string& path);

    enum class Answer { Unknown, WrongScope, Allowed };
    struct Check {
        Answer answer = Answer::Unknown;
        std::string name;  // of the token, where it is known
    };
    // Takes the same time for every token of the same length.
    [[nodiscard]] Check check(std::string_view token, Scope needed) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        std::string name;
        Scope scope;
        std::string digest;
    };
    std::vector<Entry> entries_;
};

// The token in an Authorization header: "Bearer TOKEN", or the password of "Basic BASE64", which browsers send.
// Empty if there is none.
[[nodiscard]] std::string token_of_header(std::string_view authorization);

}  // namespace lagtrap::server
