// Stores accounts, their sessions, machine tokens, daily upload quotas and the audit log.
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
    std::string subject{};  // issuer and subject at an OpenID Connect provider; empty: a local account
};

struct Session {
    std::string token_sha256;  // 64 hexadecimal digits; the token itself is not stored
    std::string account;
    std::uint64_t created_realtime_ns = 0;
    std::uint64_t used_realtime_ns = 0;
    std::uint64_t expires_realtime_ns = 0;
    std::string address;  // of the browser that signed in
};

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

struct AuditEntry {
    std::uint64_t number = 0;  // set by add_audit()
    std::uint64_t at_realtime_ns = 0;
    std::string who;
    std::string action;
    std::string object;
    std::string detail;
};

// Which audit entries to return: all, sign-ins (including sign-outs and attempts), or refusals.
enum class AuditPart : std::uint8_t { All, SignIns, Refusals };

// A group of people who see only certain events and units: those that match the patterns of any of
// their teams. Admins see everything. If any team exists, an account in no team sees nothing; if
// none does, everybody sees everything.
struct Team {
    std::string name;                        // same rules as for token names
    std::vector<std::string> events, units;  // patterns, see Sight
    std::vector<std::string> groups;  // of an OpenID Connect provider; their people are members; "*": every group
    struct Member {
        std::string account;
        bool by_group = false;  // valid until the next sign-in
    };
    std::vector<Member> members{};  // by account
};
inline constexpr std::size_t teams_limit = 1000;
inline constexpr std::size_t team_lines_limit = 100;       // patterns of events, of units, and groups
inline constexpr std::size_t team_line_limit_bytes = 256;  // per line

// Uploads of all senders on a day.
struct QuotaUse {
    std::uint64_t senders = 0;    // that uploaded anything
    std::uint64_t max_bytes = 0;  // of a single sender
};

// The rules of RunStore apply.
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
    // Replaces role, password and disabled of the account with that name. If one of them changed,
    // ends its sessions except `keep_session` (a session's token_sha256). False if there is no such
    // account.
    [[nodiscard]] virtual Result<bool> change_account(const Account& account, const std::string& keep_session) = 0;
    // Also removes its sessions. A missing account is not an error.
    [[nodiscard]] virtual Status remove_account(const std::string& name) = 0;

    [[nodiscard]] virtual Status add_session(const Session& session) = 0;
    // Includes expired sessions; the caller compares times. nullopt if the account is disabled or
    // gone.
    [[nodiscard]] virtual Result<std::optional<Session>> find_session(const std::string& token_sha256) = 0;
    [[nodiscard]] virtual Status touch_session(const std::string& token_sha256, std::uint64_t used_realtime_ns) = 0;
    [[nodiscard]] virtual Status remove_session(const std::string& token_sha256) = 0;
    [[nodiscard]] virtual Result<std::vector<Session>> sessions(const std::string& account) = 0;

    [[nodiscard]] virtual Status add_token(const Token& token) = 0;
    [[nodiscard]] virtual Result<std::optional<Token>> find_token(const std::string& id) = 0;
    [[nodiscard]] virtual Result<std::vector<Token>> tokens() = 0;  // newest first
    [[nodiscard]] virtual Status touch_token(const std::string& id, std::uint64_t used_realtime_ns) = 0;
    // False if there was none.
    [[nodiscard]] virtual Result<bool> remove_token(const std::string& id) = 0;

    // Creates a team, or replaces its patterns and groups; members stay. ErrorKind::TooLarge beyond
    // teams_limit.
    [[nodiscard]] virtual Result<AddOutcome> set_team(const Team& team) = 0;
    // False if there is none. ErrorKind::Busy if a member is in no other team.
    [[nodiscard]] virtual Result<bool> remove_team(const std::string& name) = 0;
    [[nodiscard]] virtual Result<std::vector<Team>> teams() = 0;  // by name
    [[nodiscard]] virtual Result<bool> has_teams() = 0;
    [[nodiscard]] virtual Result<std::vector<Team>> teams_of(const std::string& account) = 0;  // without members
    // False if there is no such team or account.
    [[nodiscard]] virtual Result<bool> join_team(const std::string& team, const std::string& account) = 0;
    // False if the account was not a member.
    [[nodiscard]] virtual Result<bool> leave_team(const std::string& team, const std::string& account) = 0;
    // Adds an account to the teams of its groups, and removes it from those it had joined by other
    // groups.
    [[nodiscard]] virtual Status set_teams_by_groups(const std::string& account,
                                                     const std::vector<std::string>& groups) = 0;

    // Charges bytes to a sender's day (in UTC days since 1970), across all servers of the store,
    // unless the total would exceed `limit_bytes`. Returns whether they were charged.
    [[nodiscard]] virtual Result<bool> take_quota(const std::string& sender, std::uint64_t day, std::uint64_t bytes,
                                                  std::uint64_t limit_bytes) = 0;
    // Refunds bytes that were charged but not received.
    [[nodiscard]] virtual Status give_back_quota(const std::string& sender, std::uint64_t day, std::uint64_t bytes) = 0;
    [[nodiscard]] virtual Result<QuotaUse> quota_use(std::uint64_t day) = 0;

    // Kept for 400 days; of entries whose action begins with "refuse", the newest 100,000.
    [[nodiscard]] virtual Status add_audit(const AuditEntry& entry) = 0;
    // Newest first. With `before`, only entries with lower numbers.
    [[nodiscard]] virtual Result<std::vector<AuditEntry>> audit(std::uint32_t limit,
                                                                std::optional<std::uint64_t> before,
                                                                AuditPart part) = 0;
};

}  // namespace lagtrap::server
