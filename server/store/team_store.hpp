// Stores teams and their members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/add_outcome.hpp"

namespace lagtrap::server {

class SqlSession;

// A group of people who see only certain events and units: those that match the patterns of any of
// their teams. Admins see everything. If any team exists, an account in no team sees nothing; if
// none does, everybody sees everything.
struct Team {
    std::string name;                        // same rules as for token names
    std::vector<std::string> events, units;  // patterns, see Sight
    // of an OpenID Connect provider; their people are members; "*": every group
    std::vector<std::string> groups;
    struct Member {
        std::string account;
        bool by_group = false;  // valid until the next sign-in
    };
    std::vector<Member> members{};  // by account
};

inline constexpr std::size_t teams_limit = 1000;
// patterns of events, of units, and groups
inline constexpr std::size_t team_lines_limit = 100;
inline constexpr std::size_t team_line_limit_bytes = 256;  // per line

// The rules of Store apply.
class TeamStore {
  public:
    explicit TeamStore(SqlSession& session) : session_(&session) {}

    // Creates a team, or replaces its patterns and groups; members stay. ErrorKind::TooLarge beyond
    // teams_limit.
    [[nodiscard]] Result<AddOutcome> set_team(const Team& team) const;
    // False if there is none. ErrorKind::Busy if a member is in no other team.
    [[nodiscard]] Result<bool> remove_team(const std::string& name) const;
    [[nodiscard]] Result<std::vector<Team>> list() const;  // by name
    [[nodiscard]] Result<bool> has_teams() const;
    // without members
    [[nodiscard]] Result<std::vector<Team>> teams_of(const std::string& account) const;
    // False if there is no such team or account.
    [[nodiscard]] Result<bool> join_team(const std::string& team, const std::string& account) const;
    // False if the account was not a member.
    [[nodiscard]] Result<bool> leave_team(const std::string& team,
                                          const std::string& account) const;
    // Adds an account to the teams of its groups, and removes it from those it had joined by other
    // groups.
    [[nodiscard]] Status set_teams_by_groups(const std::string& account,
                                             const std::vector<std::string>& groups) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
