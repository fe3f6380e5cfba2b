#include <algorithm>

#include "server/store/objects_parts.hpp"
#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t parts_at_once = 1000;

// The oldest but the first, until what is left fits.
Status drop_old_parts(Connection& connection, const std::string& watch) {
    TRY_ASSIGN(const auto sum, connection.number("SELECT CAST(coalesce(sum(length(lines)), 0) AS BIGINT)"
                                                 " FROM objects_part WHERE watch = $1 AND number > 1",
                                                 {watch}));
    auto left_bytes = static_cast<std::uint64_t>(sum.value_or(0));
    if (left_bytes <= object_watch_limit_bytes) return success();
    std::uint64_t until = 1;
    {
        TRY_ASSIGN(const auto rows, connection.query("SELECT number, length(lines) FROM objects_part WHERE watch = $1"
                                                     " AND number > 1 ORDER BY number",
                                                     {watch}));
        while (left_bytes > object_watch_limit_bytes) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            until = rows->natural(0);
            left_bytes -= std::min(left_bytes, rows->natural(1));
        }
    }
    TRY(connection.execute("DELETE FROM objects_part WHERE watch = $1 AND number > 1 AND number <= $2",
                           {watch, until}));
    return success();
}

Status drop_watch(Connection& connection, const std::string& watch) {
    TRY(connection.execute("DELETE FROM objects_part WHERE watch = $1", {watch}));
    TRY(connection.execute("DELETE FROM objects_watch WHERE id = $1", {watch}));
    return success();
}

Status keep_object_watches_small(Connection& connection, const std::string& newest) {
    std::vector<std::string> gone;
    {
        TRY_ASSIGN(const auto rows, connection.query("SELECT id, bytes FROM objects_watch ORDER BY last_ns DESC, id"));
        std::uint64_t kept = 0, kept_bytes = 0;
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            kept_bytes += rows->natural(1);
            const bool fits = ++kept <= object_watches_limit && kept_bytes <= object_watches_limit_bytes;
            if (!fits && rows->bytes(0) != newest) gone.push_back(rows->text(0));
        }
    }
    for (const std::string& watch : gone) TRY(drop_watch(connection, watch));
    return success();
}

}  // namespace

// A watch is its first sender's: nobody else tells of it.
Status add_objects_part(Connection& connection, const Receipt& receipt, const trace::RunBatch& batch) {
    const trace::ObjectsPart& part = *batch.objects;
    const std::string host = stored_text(batch.host), process = stored_text(part.process),
                      sender = stored_text(receipt.sender);
    TRY(connection.execute(
        "INSERT INTO objects_watch(id, host, sender, process, pid, first_ns, last_ns, parts, ended, bytes)"
        " VALUES($1,$2,$3,$4,$5,$6,$6,0,0,0) ON CONFLICT(id) DO NOTHING",
        {part.watch_id, host, sender, process, part.pid, receipt.received_realtime_ns}));
    TRY_ASSIGN(
        const auto own,
        connection.execute("UPDATE objects_watch SET last_ns = $4, parts = CASE WHEN parts < $5 THEN $5 ELSE parts END,"
                           " ended = CASE WHEN $6 > ended THEN $6 ELSE ended END"
                           " WHERE id = $1 AND host = $2 AND sender = $3",
                           {part.watch_id, host, sender, receipt.received_realtime_ns, part.number, part.last}));
    if (own == 0) return make_error(ErrorKind::Invalid, "this watch of objects is another sender's");
    TRY(
        connection.execute("INSERT INTO objects_part(watch, number, lost, last, lines) VALUES($1,$2,$3,$4,$5)"
                           " ON CONFLICT(watch, number) DO NOTHING",
                           {part.watch_id, part.number, std::min<std::uint64_t>(part.lost_lines, INT64_MAX), part.last,
                            Value::bytes(part.lines)}));
    TRY(drop_old_parts(connection, part.watch_id));
    TRY(
        connection.execute("UPDATE objects_watch SET bytes = (SELECT CAST(coalesce(sum(length(lines)), 0) AS BIGINT)"
                           " FROM objects_part WHERE watch = $1) WHERE id = $1",
                           {part.watch_id}));
    return keep_object_watches_small(connection, part.watch_id);
}

Status drop_object_watches_before(Connection& connection, std::uint64_t last_ns) {
    TRY(connection.execute("DELETE FROM objects_part WHERE watch IN (SELECT id FROM objects_watch WHERE last_ns < $1)",
                           {last_ns}));
    TRY(connection.execute("DELETE FROM objects_watch WHERE last_ns < $1", {last_ns}));
    return success();
}

Result<std::vector<ObjectWatch>> SqlStore::object_watches(std::uint32_t limit) {
    std::vector<ObjectWatch> watches;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        watches.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT id, host, process, pid, first_ns, last_ns, parts, ended FROM objects_watch"
                                    " ORDER BY last_ns DESC, id LIMIT $1",
                                    {limit}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            watches.push_back({rows->text(0), rows->text(1), rows->text(2), rows->small(3), rows->natural(4),
                               rows->natural(5), rows->small(6), rows->integer(7) != 0});
        }
    });
    if (!looked) return looked.error();
    return watches;
}

Result<std::vector<StoredObjectsPart>> SqlStore::objects_parts(const std::string& watch, std::uint32_t after,
                                                               std::uint64_t limit_bytes) {
    std::vector<StoredObjectsPart> parts;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        parts.clear();
        TRY_ASSIGN(const auto rows, connection.query("SELECT number, lost, last, lines FROM objects_part"
                                                     " WHERE watch = $1 AND number > $2 ORDER BY number LIMIT $3",
                                                     {watch, after, parts_at_once}));
        for (std::uint64_t bytes = 0; bytes < limit_bytes;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            parts.push_back({rows->small(0), rows->natural(1), rows->integer(2) != 0, rows->text(3)});
            bytes += std::max<std::uint64_t>(parts.back().lines.size(), 1);
        }
        return success();
    });
    if (!looked) return looked.error();
    return parts;
}

}  // namespace lagtrap::server
