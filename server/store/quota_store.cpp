#include "server/store/quota_store.hpp"

#include <algorithm>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {

// A single statement, which locks the row only for its own transaction. Concurrent uploads wait for
// it and then see the new total.
Result<bool> QuotaStore::take_quota(const std::string& sender, std::uint64_t day,
                                    std::uint64_t bytes, std::uint64_t limit_bytes) const {
    const std::uint64_t limit = std::min<std::uint64_t>(limit_bytes, INT64_MAX);
    if (bytes > limit) return false;
    const std::string name = stored_text(sender);
    bool taken = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto changed,
                   connection.execute(
                       "INSERT INTO quota(name, day, bytes) VALUES($1, $2, $3) ON CONFLICT(name, "
                       "day) DO UPDATE SET bytes = quota.bytes + $3 WHERE quota.bytes <= $4",
                       {name, day, bytes, limit - bytes}));
        taken = changed > 0;
        return success();
    });
    if (!written) return written.error();
    return taken;
}

Status QuotaStore::give_back_quota(const std::string& sender, std::uint64_t day,
                                   std::uint64_t bytes) const {
    const std::string name = stored_text(sender);
    return session_->write([&](Connection& connection) -> Status {
        TRY(connection.execute(
            "UPDATE quota SET bytes = bytes - $3 WHERE name = $1 AND day = $2 AND bytes >= $3",
            {name, day, bytes}));
        return success();
    });
}

Result<QuotaUse> QuotaStore::quota_use(std::uint64_t day) const {
    QuotaUse use;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT count(*), coalesce(max(bytes), 0) FROM quota WHERE day = $1 AND bytes > 0",
                {day}));
        TRY_ASSIGN(const bool found, rows->next());
        if (found) use = {rows->natural(0), rows->natural(1)};
        return success();
    });
    if (!looked) return looked.error();
    return use;
}

}  // namespace lagtrap::server
