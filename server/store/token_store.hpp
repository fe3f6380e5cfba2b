// Stores the tokens of machines and scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

class SqlSession;

// Bits of Token::scopes.
enum TokenScope : std::uint32_t { ScopeUpload = 1, ScopeRead = 2, ScopeAdmin = 4 };

struct Token {
    std::string id;  // public, unique
    std::string secret_sha256;
    std::string name;
    std::uint32_t scopes = 0;
    std::string host;   // the only host it may upload for; empty: any
    std::string group;  // label of the hosts that share it; may be empty
    std::string made_by;
    std::uint64_t created_realtime_ns = 0;
    std::optional<std::uint64_t> expires_realtime_ns;
    std::optional<std::uint64_t> used_realtime_ns;
};

// The rules of Store apply.
class TokenStore {
  public:
    explicit TokenStore(SqlSession& session) : session_(&session) {}

    [[nodiscard]] Status add_token(const Token& token) const;
    [[nodiscard]] Result<std::optional<Token>> find_token(const std::string& id) const;
    [[nodiscard]] Result<std::vector<Token>> list() const;  // newest first
    [[nodiscard]] Status touch_token(const std::string& id, std::uint64_t used_realtime_ns) const;
    // False if there was none.
    [[nodiscard]] Result<bool> remove_token(const std::string& id) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
