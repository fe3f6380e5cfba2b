#include "server/store/token_store.hpp"

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

const std::string token_columns =
    "SELECT id, secret_sha256, name, scopes, host, host_group, made_by, created_ns, expires_ns, "
    "used_ns FROM token";

Token read_token(const Rows& rows) {
    return {rows.text(0), rows.text(1), rows.text(2),    rows.small(3),    rows.text(4),
            rows.text(5), rows.text(6), rows.natural(7), rows.optional(8), rows.optional(9)};
}

}  // namespace

Status TokenStore::add_token(const Token& token) const {
    return session_->change_only(
        "INSERT INTO token(id, secret_sha256, name, scopes, host, host_group, made_by, created_ns,"
        " expires_ns, used_ns) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)",
        {token.id, token.secret_sha256, token.name, token.scopes, token.host, token.group,
         token.made_by, token.created_realtime_ns, token.expires_realtime_ns,
         token.used_realtime_ns});
}

Result<std::optional<Token>> TokenStore::find_token(const std::string& id) const {
    return session_->select_one(token_columns + " WHERE id = $1", {id}, read_token);
}

Result<std::vector<Token>> TokenStore::list() const {
    return session_->select_all(token_columns + " ORDER BY created_ns DESC, id", {}, read_token);
}

Status TokenStore::touch_token(const std::string& id, std::uint64_t used_realtime_ns) const {
    return session_->change_only(
        "UPDATE token SET used_ns = $2 WHERE id = $1 AND coalesce(used_ns, 0) < $2",
        {id, used_realtime_ns});
}

Result<bool> TokenStore::remove_token(const std::string& id) const {
    TRY_ASSIGN(const auto removed, session_->change("DELETE FROM token WHERE id = $1", {id}));
    return removed > 0;
}

}  // namespace lagtrap::server
