#include "server/store/team_store.hpp"

#include <algorithm>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

const std::string team_columns = "SELECT t.name, t.events, t.units, t.sso_groups FROM team t";

// Patterns and groups contain no control characters.
std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

Result<std::vector<Team>> select_teams(Connection& connection, const std::string& tail,
                                       const Values& values) {
    std::vector<Team> found;
    TRY_ASSIGN(const auto rows, connection.query(team_columns + tail, values));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return found;
        found.push_back({rows->text(0), lines_of(rows->bytes(1)), lines_of(rows->bytes(2)),
                         lines_of(rows->bytes(3))});
    }
}

Status add_members(Connection& connection, std::vector<Team>& teams) {
    TRY_ASSIGN(const auto rows,
               connection.query(
                   "SELECT team, account, by_group FROM team_account ORDER BY team, account"));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        for (Team& team : teams)
            if (team.name == rows->bytes(0))
                team.members.push_back({rows->text(1), rows->integer(2) != 0});
    }
}

}  // namespace

Result<AddOutcome> TeamStore::set_team(const Team& team) const {
    const std::string events = joined(team.events), units = joined(team.units),
                      groups = joined(team.groups);
    auto outcome = AddOutcome::New;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto changed,
                   connection.execute(
                       "UPDATE team SET events = $2, units = $3, sso_groups = $4 WHERE name = $1",
                       {team.name, events, units, groups}));
        outcome = changed > 0 ? AddOutcome::Already : AddOutcome::New;
        if (changed > 0) return success();
        TRY_ASSIGN(const auto there, connection.number("SELECT count(*) FROM team"));
        if (there.value_or(0) >= static_cast<std::int64_t>(teams_limit))
            return make_error(ErrorKind::TooLarge, "there are " + std::to_string(teams_limit) +
                                                       " teams, and more are not kept");
        TRY(connection.execute(
            "INSERT INTO team(name, events, units, sso_groups) VALUES($1,$2,$3,$4)",
            {team.name, events, units, groups}));
        return success();
    });
    if (!written) return written.error();
    return outcome;
}

Result<bool> TeamStore::remove_team(const std::string& name) const {
    bool there = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        // Those people would see nothing afterwards or, with the last team gone, everything.
        TRY_ASSIGN(
            const auto alone,
            connection.number(
                "SELECT count(*) FROM team_account m WHERE m.team = $1 AND NOT EXISTS (SELECT 1 "
                "FROM team_account o WHERE o.account = m.account AND o.team <> m.team)",
                {name}));
        if (alone.value_or(0) > 0)
            return make_error(ErrorKind::Busy,
                              std::to_string(*alone) + " of its accounts are in no other team");
        TRY(connection.execute("DELETE FROM team_account WHERE team = $1", {name}));
        TRY_ASSIGN(const auto removed,
                   connection.execute("DELETE FROM team WHERE name = $1", {name}));
        there = removed > 0;
        return success();
    });
    if (!written) return written.error();
    return there;
}

Result<std::vector<Team>> TeamStore::list() const {
    std::vector<Team> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(found, select_teams(connection, " ORDER BY t.name", {}));
        return add_members(connection, found);
    });
    if (!looked) return looked.error();
    return found;
}

Result<bool> TeamStore::has_teams() const {
    bool any = false;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto one, connection.number("SELECT 1 FROM team LIMIT 1"));
        any = one.has_value();
        return success();
    });
    if (!looked) return looked.error();
    return any;
}

Result<std::vector<Team>> TeamStore::teams_of(const std::string& account) const {
    std::vector<Team> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            found,
            select_teams(
                connection,
                " JOIN team_account m ON m.team = t.name WHERE m.account = $1 ORDER BY t.name",
                {account}));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<bool> TeamStore::join_team(const std::string& team, const std::string& account) const {
    bool joined_it = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto there,
                   connection.number(
                       "SELECT 1 FROM team t JOIN account a ON a.name = $2 WHERE t.name = $1",
                       {team, account}));
        joined_it = there.has_value();
        if (!joined_it) return success();
        TRY(
            connection.execute("INSERT INTO team_account(team, account, by_group) VALUES($1,$2,0) "
                               "ON CONFLICT(team, account) DO UPDATE SET by_group = 0",
                               {team, account}));
        return success();
    });
    if (!written) return written.error();
    return joined_it;
}

Result<bool> TeamStore::leave_team(const std::string& team, const std::string& account) const {
    bool left = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto removed,
                   connection.execute("DELETE FROM team_account WHERE team = $1 AND account = $2",
                                      {team, account}));
        left = removed > 0;
        return success();
    });
    if (!written) return written.error();
    return left;
}

Status TeamStore::set_teams_by_groups(const std::string& account,
                                      const std::vector<std::string>& groups) const {
    return session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto all, select_teams(connection, " ORDER BY t.name", {}));
        TRY(connection.execute("DELETE FROM team_account WHERE account = $1 AND by_group = 1",
                               {account}));
        for (const Team& team : all) {
            const bool member =
                std::any_of(team.groups.begin(), team.groups.end(), [&](const std::string& group) {
                    return group == "*" ||
                           std::find(groups.begin(), groups.end(), group) != groups.end();
                });
            if (!member) continue;
            TRY(
                connection.execute("INSERT INTO team_account(team, account, by_group) "
                                   "VALUES($1,$2,1) ON CONFLICT(team, account) DO NOTHING",
                                   {team.name, account}));
        }
        return success();
    });
}

}  // namespace lagtrap::server
