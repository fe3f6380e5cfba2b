// Stores accounts and their sessions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/add_outcome.hpp"

namespace lagtrap::server {

class SqlSession;

enum class Role : std::uint8_t { Reader, Uploader, Admin };
struct Account {
    std::string name;  // printable, 1 to 64 bytes; the caller has checked it
    Role role = Role::Reader;
    std::string password_hash;  // a PHC string of argon2id
    std::uint64_t created_realtime_ns = 0;
    bool disabled = false;
    // issuer and subject at an OpenID Connect provider; empty: a local account
    std::string subject{};
};

struct Session {
    std::string token_sha256;  // 64 hexadecimal digits; the token itself is not stored
    std::string account;
    std::uint64_t created_realtime_ns = 0;
    std::uint64_t used_realtime_ns = 0;
    std::uint64_t expires_realtime_ns = 0;
    std::string address;  // of the browser that signed in
};

// The rules of Store apply.
class AccountStore {
  public:
    explicit AccountStore(SqlSession& session) : session_(&session) {}

    // Already: the name is taken, and nothing changed.
    [[nodiscard]] Result<AddOutcome> add_account(const Account& account) const;
    [[nodiscard]] Result<std::optional<Account>> find_account(const std::string& name) const;
    [[nodiscard]] Result<std::vector<Account>> list() const;  // by name
    // Replaces role, password and disabled of the account with that name. If one of them changed,
    // ends its sessions except `keep_session` (a session's token_sha256). False if there is no such
    // account.
    [[nodiscard]] Result<bool> change_account(const Account& account,
                                              const std::string& keep_session) const;
    // Also removes its sessions. A missing account is not an error.
    [[nodiscard]] Status remove_account(const std::string& name) const;
    [[nodiscard]] Status add_session(const Session& session) const;
    // Includes expired sessions; the caller compares times. nullopt if the account is disabled or
    // gone.
    [[nodiscard]] Result<std::optional<Session>> find_session(
        const std::string& token_sha256) const;
    [[nodiscard]] Status touch_session(const std::string& token_sha256,
                                       std::uint64_t used_realtime_ns) const;
    [[nodiscard]] Status remove_session(const std::string& token_sha256) const;
    [[nodiscard]] Result<std::vector<Session>> sessions(const std::string& account) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
