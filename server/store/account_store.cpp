#include "server/store/account_store.hpp"

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

const std::string account_columns =
    "SELECT name, role, password_hash, created_ns, disabled, subject FROM account";

const std::string session_columns =
    "SELECT s.token_sha256, s.account, s.created_ns, s.used_ns, s.expires_ns, s.address FROM "
    "session s";

Account read_account(const Rows& rows) {
    return {rows.text(0),         static_cast<Role>(rows.integer(1)),
            rows.text(2),         rows.natural(3),
            rows.integer(4) != 0, rows.text(5)};
}

Session read_session(const Rows& rows) {
    return {rows.text(0),    rows.text(1),    rows.natural(2),
            rows.natural(3), rows.natural(4), rows.text(5)};
}

}  // namespace

Result<AddOutcome> AccountStore::add_account(const Account& account) const {
    TRY_ASSIGN(
        const auto added,
        session_->change("INSERT INTO account(name, role, password_hash, created_ns, disabled, "
                         "subject) VALUES($1,$2,$3,$4,$5,$6) ON CONFLICT(name) DO NOTHING",
                         {account.name, account.role, account.password_hash,
                          account.created_realtime_ns, account.disabled, account.subject}));
    return added > 0 ? AddOutcome::New : AddOutcome::Already;
}

Result<std::optional<Account>> AccountStore::find_account(const std::string& name) const {
    return session_->select_one(account_columns + " WHERE name = $1", {name}, read_account);
}

Result<std::vector<Account>> AccountStore::list() const {
    return session_->select_all(account_columns + " ORDER BY name", {}, read_account);
}

Result<bool> AccountStore::change_account(const Account& account,
                                          const std::string& keep_session) const {
    bool there = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto rows, connection.query(account_columns + " WHERE name = $1" +
                                                         session_->dialect().lock_rows,
                                                     {account.name}));
        TRY_ASSIGN(there, rows->next());
        if (!there) return success();
        const Account before = read_account(*rows);
        TRY(connection.execute(
            "UPDATE account SET role = $2, password_hash = $3, disabled = $4 WHERE name = $1",
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

Status AccountStore::remove_account(const std::string& name) const {
    return session_->write([&](Connection& connection) -> Status {
        TRY(connection.execute("DELETE FROM session WHERE account = $1", {name}));
        TRY(connection.execute("DELETE FROM team_account WHERE account = $1", {name}));
        TRY(connection.execute("DELETE FROM account WHERE name = $1", {name}));
        return success();
    });
}

Status AccountStore::add_session(const Session& session) const {
    const std::string address = stored_text(session.address);
    return session_->change_only(
        "INSERT INTO session(token_sha256, account, created_ns, used_ns, expires_ns, address) "
        "VALUES($1,$2,$3,$4,$5,$6)",
        {session.token_sha256, session.account, session.created_realtime_ns,
         session.used_realtime_ns, session.expires_realtime_ns, address});
}

Result<std::optional<Session>> AccountStore::find_session(const std::string& token_sha256) const {
    return session_->select_one(
        session_columns +
            " JOIN account a ON a.name = s.account WHERE s.token_sha256 = $1 AND a.disabled = 0",
        {token_sha256}, read_session);
}

Status AccountStore::touch_session(const std::string& token_sha256,
                                   std::uint64_t used_realtime_ns) const {
    return session_->change_only(
        "UPDATE session SET used_ns = $2 WHERE token_sha256 = $1 AND used_ns < $2",
        {token_sha256, used_realtime_ns});
}

Status AccountStore::remove_session(const std::string& token_sha256) const {
    return session_->change_only("DELETE FROM session WHERE token_sha256 = $1", {token_sha256});
}

Result<std::vector<Session>> AccountStore::sessions(const std::string& account) const {
    return session_->select_all(
        session_columns + " WHERE s.account = $1 ORDER BY s.created_ns DESC", {account},
        read_session);
}

}  // namespace lagtrap::server
