#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

const std::string account_columns = "SELECT name, role, password_hash, created_ns, disabled, subject FROM account";
const std::string session_columns =
    "SELECT s.token_sha256, s.account, s.created_ns, s.used_ns, s.expires_ns, s.address FROM session s";
const std::string token_columns =
    "SELECT id, secret_sha256, name, scopes, host, host_group, made_by, created_ns, expires_ns, used_ns FROM token";

Account read_account(const Rows& rows) {
    return {rows.text(0), static_cast<Role>(rows.integer(1)), rows.text(2), rows.natural(3), rows.integer(4) != 0,
            rows.text(5)};
}

Session read_session(const Rows& rows) {
    return {rows.text(0), rows.text(1), rows.natural(2), rows.natural(3), rows.natural(4), rows.text(5)};
}

Token read_token(const Rows& rows) {
    return {rows.text(0), rows.text(1), rows.text(2),    rows.small(3),    rows.text(4),
            rows.text(5), rows.text(6), rows.natural(7), rows.optional(8), rows.optional(9)};
}

AuditEntry read_audit(const Rows& rows) {
    return {rows.natural(0), rows.natural(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)};
}

template <typename Read>
auto select_all(Database& database, const std::string& sql, const Values& values, Read read)
    -> Result<std::vector<decltype(read(std::declval<const Rows&>()))>> {
    std::vector<decltype(read(std::declval<const Rows&>()))> found;
    const Status looked = database.read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows, connection.query(sql, values));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back(read(*rows));
        }
    });
    if (!looked) return looked.error();
    return found;
}

template <typename Read>
auto select_one(Database& database, const std::string& sql, const Values& values, Read read)
    -> Result<std::optional<decltype(read(std::declval<const Rows&>()))>> {
    TRY_ASSIGN(auto found, select_all(database, sql, values, read));
    if (found.empty()) return std::optional<decltype(read(std::declval<const Rows&>()))>();
    return std::optional(std::move(found.front()));
}

Result<std::uint64_t> change(Database& database, const std::string& sql, const Values& values) {
    std::uint64_t changed = 0;
    const Status written = database.write([&](Connection& connection) -> Status {
        TRY_ASSIGN(changed, connection.execute(sql, values));
        return success();
    });
    if (!written) return written.error();
    return changed;
}

Status change_only(Database& database, const std::string& sql, const Values& values) {
    TRY(change(database, sql, values));
    return success();
}

}  // namespace

Result<AddOutcome> SqlStore::add_account(const Account& account) {
    TRY_ASSIGN(const auto added, change(*database_,
                                        "INSERT INTO account(name, role, password_hash, created_ns, disabled, subject)"
                                        " VALUES($1,$2,$3,$4,$5,$6) ON CONFLICT(name) DO NOTHING",
                                        {account.name, account.role, account.password_hash, account.created_realtime_ns,
                                         account.disabled, account.subject}));
    return added > 0 ? AddOutcome::New : AddOutcome::Already;
}

Result<std::optional<Account>> SqlStore::find_account(const std::string& name) {
    return select_one(*database_, account_columns + " WHERE name = $1", {name}, read_account);
}

Result<std::vector<Account>> SqlStore::accounts() {
    return select_all(*database_, account_columns + " ORDER BY name", {}, read_account);
}

Result<bool> SqlStore::change_account(const Account& account, const std::string& keep_session) {
    bool there = false;
    const Status written = database_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto rows,
            connection.query(account_columns + " WHERE name = $1" + database_->dialect().lock_rows, {account.name}));
        TRY_ASSIGN(there, rows->next());
        if (!there) return success();
        const Account before = read_account(*rows);
        TRY(connection.execute("UPDATE account SET role = $2, password_hash = $3, disabled = $4 WHERE name = $1",
                               {account.name, account.role, account.password_hash, account.disabled}));
        if (before.role == account.role && before.password_hash == account.password_hash &&
            before.disabled == account.disabled)
            return success();
        TRY(connection.execute("DELETE FROM session WHERE account = $1 AND token_sha256 <> $2",
                               {account.name, keep_session}));
        return success();
    });
    if (!written) return written.error();
    return there;
}

Status SqlStore::remove_account(const std::string& name) {
    return database_->write([&](Connection& connection) -> Status {
        TRY(connection.execute("DELETE FROM session WHERE account = $1", {name}));
        TRY(connection.execute("DELETE FROM team_account WHERE account = $1", {name}));
        TRY(connection.execute("DELETE FROM account WHERE name = $1", {name}));
        return success();
    });
}

Status SqlStore::add_session(const Session& session) {
    const std::string address = stored_text(session.address);
    return change_only(*database_,
                       "INSERT INTO session(token_sha256, account, created_ns, used_ns, expires_ns, address)"
                       " VALUES($1,$2,$3,$4,$5,$6)",
                       {session.token_sha256, session.account, session.created_realtime_ns, session.used_realtime_ns,
                        session.expires_realtime_ns, address});
}

Result<std::optional<Session>> SqlStore::find_session(const std::string& token_sha256) {
    return select_one(*database_,
                      session_columns +
                          " JOIN account a ON a.name = s.account WHERE s.token_sha256 = $1"
                          " AND a.disabled = 0",
                      {token_sha256}, read_session);
}

Status SqlStore::touch_session(const std::string& token_sha256, std::uint64_t used_realtime_ns) {
    return change_only(*database_, "UPDATE session SET used_ns = $2 WHERE token_sha256 = $1 AND used_ns < $2",
                       {token_sha256, used_realtime_ns});
}

Status SqlStore::remove_session(const std::string& token_sha256) {
    return change_only(*database_, "DELETE FROM session WHERE token_sha256 = $1", {token_sha256});
}

Result<std::vector<Session>> SqlStore::sessions(const std::string& account) {
    return select_all(*database_, session_columns + " WHERE s.account = $1 ORDER BY s.created_ns DESC", {account},
                      read_session);
}

Status SqlStore::add_token(const Token& token) {
    return change_only(*database_,
                       "INSERT INTO token(id, secret_sha256, name, scopes, host, host_group, made_by, created_ns,"
                       " expires_ns, used_ns) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)",
                       {token.id, token.secret_sha256, token.name, token.scopes, token.host, token.group, token.made_by,
                        token.created_realtime_ns, token.expires_realtime_ns, token.used_realtime_ns});
}

Result<std::optional<Token>> SqlStore::find_token(const std::string& id) {
    return select_one(*database_, token_columns + " WHERE id = $1", {id}, read_token);
}

Result<std::vector<Token>> SqlStore::tokens() {
    return select_all(*database_, token_columns + " ORDER BY created_ns DESC, id", {}, read_token);
}

Status SqlStore::touch_token(const std::string& id, std::uint64_t used_realtime_ns) {
    return change_only(*database_, "UPDATE token SET used_ns = $2 WHERE id = $1 AND coalesce(used_ns, 0) < $2",
                       {id, used_realtime_ns});
}

Result<bool> SqlStore::remove_token(const std::string& id) {
    TRY_ASSIGN(const auto removed, change(*database_, "DELETE FROM token WHERE id = $1", {id}));
    return removed > 0;
}

Status SqlStore::add_audit(const AuditEntry& entry) {
    const std::string who = stored_text(entry.who), action = stored_text(entry.action),
                      object = stored_text(entry.object), detail = stored_text(entry.detail);
    return change_only(*database_, "INSERT INTO audit(at_ns, who, action, object, detail) VALUES($1,$2,$3,$4,$5)",
                       {entry.at_realtime_ns, who, action, object, detail});
}

Result<std::vector<AuditEntry>> SqlStore::audit(std::uint32_t limit, std::optional<std::uint64_t> before,
                                                AuditPart part) {
    const std::string only = part == AuditPart::SignIns    ? " AND action IN ('sign in', 'sign out', 'refuse sign-in')"
                             : part == AuditPart::Refusals ? " AND action LIKE 'refuse %'"
                                                           : "";
    return select_all(
        *database_,
        "SELECT id, at_ns, who, action, object, detail FROM audit WHERE id < $1" + only + " ORDER BY id DESC LIMIT $2",
        {before.value_or(INT64_MAX), limit}, read_audit);
}

}  // namespace lagtrap::server
