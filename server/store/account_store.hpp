// Accounts, their sessions, machines' tokens, what senders brought today, and the record of who did what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

enum class Role : std::uint8_t { Reader, Uploader, Admin };

struct Account {
    std::string name;  // printable, 1 to 64 bytes; the caller has checked it
    Role role = Role::Reader;
    std::string password_hash;  // a PHC string of argon2id
    std::uint64_t created_realtime_ns = 0;
    bool disabled = false;
    std::string subject{};  // issuer and subject of whom a provider of OpenID Connect vouches for; empty: made here
};

struct Session {
    std::string token_sha256;  // 64 hexadecimal digits; the token itself is stored nowhere
    std::string account;
    std::uint64_t created_realtime_ns = 0;
    std::uint64_t used_realtime_ns = 0;
    std::uint64_t expires_realtime_ns = 0;
    std::string address;  // of whoever signed in
};

// Bits of Token::scopes.
enum TokenScope : std::uint32_t { ScopeUpload = 1, ScopeRead = 2, ScopeAdmin = 4 };

struct Token {
    std::string id;  // public, unique
    std::string secret_sha256;
    std::string name;
    std::uint32_t scopes = 0;
    std::string host;   // may speak for this host alone; empty: not bound to one
    std::string group;  // label of the hosts that share it; may be empty
    std::string made_by;
    std::uint64_t created_realtime_ns = 0;
    std::optional<std::uint64_t> expires_realtime_ns;
    std::optional<std::uint64_t> used_realtime_ns;
};

struct AuditEntry {
    std::uint64_t number = 0;  // given by add_audit()
    std::uint64_t at_realtime_ns = 0;
    std::string who;
    std::string action;
    std::string object;
    std::string detail;
};

// Which entries of the audit: all, those of signing in and out and of attempts at it, or what was refused.
enum class AuditPart : std::uint8_t { All, SignIns, Refusals };

// People who see their own events and units alone: what fits the patterns of any of their teams. Admins see everything.
// Where any team exists, an account in none sees nothing; where none does, everybody sees everything.
struct Team {
    std::string name;                        // as tokens are called
    std::vector<std::string> events, units;  // patterns, as Sight has them
    std::vector<std::string> groups;  // of a provider of OpenID Connect, whose people are in it; "*": all of them
    struct Member {
        std::string account;
        bool by_group = false;  // until the next sign-in says otherwise
    };
    std::vector<Member> members{};  // by account
};
inline constexpr std::size_t teams_limit = 1000;
inline constexpr std::size_t team_lines_limit = 100;       // patterns of events, of units, and groups
inline constexpr std::size_t team_line_limit_bytes = 256;  // of one

// What senders brought on a day.
struct QuotaUse {
    std::uint64_t senders = 0;     // that brought anything
    std::uint64_t most_bytes = 0;  // of one of them
};

// As for RunStore.
class AccountStore {
  public:
    AccountStore() = default;
    AccountStore(const AccountStore&) = delete;
    AccountStore& operator=(const AccountStore&) = delete;
    virtual ~AccountStore() = default;

    // Already: the name is taken, and nothing changed.
    [[nodiscard]] virtual Result<AddOutcome> add_account(const Account& account) = 0;
    [[nodiscard]] virtual Result<std::optional<Account>> find_account(const std::string& name) = 0;
    [[nodiscard]] virtual Result<std::vector<Account>> accounts() = 0;  // by name
    // Replaces role, password and disabled of the account of that name, and ends its sessions if any of them changed
    // (`keep_session`, a session's token_sha256, excepted). False if there is none.
    [[nodiscard]] virtual Result<bool> change_account(const Account& account, const std::string& keep_session) = 0;
    // With its sessions. What is not there is no error.
    [[nodiscard]] virtual Status remove_account(const std::string& name) = 0;

    [[nodiscard]] virtual Status add_session(const Session& session) = 0;
    // Expired ones too: the caller compares times. Nothing if its account is disabled or gone.
    [[nodiscard]] virtual Result<std::optional<Session>> find_session(const std::string& token_sha256) = 0;
    [[nodiscard]] virtual Status touch_session(const std::string& token_sha256, std::uint64_t used_realtime_ns) = 0;
    [[nodiscard]] virtual Status remove_session(const std::string& token_sha256) = 0;
    [[nodiscard]] virtual Result<std::vector<Session>> sessions(const std::string& account) = 0;

    [[nodiscard]] virtual Status add_token(const Token& token) = 0;
    [[nodiscard]] virtual Result<std::optional<Token>> find_token(const std::string& id) = 0;
    [[nodiscard]] virtual Result<std::vector<Token>> tokens() = 0;  // the newest first
    [[nodiscard]] virtual Status touch_token(const std::string& id, std::uint64_t used_realtime_ns) = 0;
    // False if there was none.
    [[nodiscard]] virtual Result<bool> remove_token(const std::string& id) = 0;

    // Makes a team, or gives one other patterns and groups; who is in it stays. ErrorKind::TooLarge beyond teams_limit.
    [[nodiscard]] virtual Result<AddOutcome> set_team(const Team& team) = 0;
    // False if there is none. ErrorKind::Busy if somebody in it is in no other team.
    [[nodiscard]] virtual Result<bool> remove_team(const std::string& name) = 0;
    [[nodiscard]] virtual Result<std::vector<Team>> teams() = 0;  // by name
    [[nodiscard]] virtual Result<bool> has_teams() = 0;
    [[nodiscard]] virtual Result<std::vector<Team>> teams_of(const std::string& account) = 0;  // without members
    // False if there is no such team or account.
    [[nodiscard]] virtual Result<bool> join_team(const std::string& team, const std::string& account) = 0;
    // False if the account was not in it.
    [[nodiscard]] virtual Result<bool> leave_team(const std::string& team, const std::string& account) = 0;
    // Puts an account into the teams of its groups, and out of those that it was in by other groups.
    [[nodiscard]] virtual Status set_teams_by_groups(const std::string& account,
                                                     const std::vector<std::string>& groups) = 0;

    // Counts bytes of a sender on a day (days of UTC since 1970), over all servers of the store, unless their sum would pass
    // `limit_bytes`; whether they were counted.
    [[nodiscard]] virtual Result<bool> take_quota(const std::string& sender, std::uint64_t day, std::uint64_t bytes,
                                                  std::uint64_t limit_bytes) = 0;
    // What was counted, and then did not come.
    [[nodiscard]] virtual Status give_back_quota(const std::string& sender, std::uint64_t day, std::uint64_t bytes) = 0;
    [[nodiscard]] virtual Result<QuotaUse> quota_use(std::uint64_t day) = 0;

    // Kept for 400 days; of those whose action begins with "refuse", the newest 100,000.
    [[nodiscard]] virtual Status add_audit(const AuditEntry& entry) = 0;
    // The newest first, numbers below `before` only (nothing: all).
    [[nodiscard]] virtual Result<std::vector<AuditEntry>> audit(std::uint32_t limit,
                                                                std::optional<std::uint64_t> before,
                                                                AuditPart part) = 0;
};

}  // namespace lagtrap::server
