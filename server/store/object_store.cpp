#include "server/store/object_store.hpp"

#include <algorithm>

#include "server/store/objects_parts.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t parts_at_once = 1000;

// Keeps sums over many parts within the column's range.
constexpr std::uint64_t lines_counted_limit = 1ULL << 30;

// Removes the oldest parts except the first, until the rest fits.
Status drop_old_parts(Connection& connection, const std::string& watch) {
    TRY_ASSIGN(const auto sum,
               connection.number("SELECT CAST(coalesce(sum(length(lines)), 0) AS BIGINT) FROM "
                                 "objects_part WHERE watch = $1 AND number > 1",
                                 {watch}));
    auto left_bytes = static_cast<std::uint64_t>(sum.value_or(0));
    if (left_bytes <= object_watch_limit_bytes) return success();
    std::uint64_t until = 1;
    {
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT number, length(lines) FROM objects_part WHERE watch = "
                                    "$1 AND number > 1 ORDER BY number",
                                    {watch}));
        while (left_bytes > object_watch_limit_bytes) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            until = rows->natural(0);
            left_bytes -= std::min(left_bytes, rows->natural(1));
        }
    }
    TRY(connection.execute(
        "DELETE FROM objects_part WHERE watch = $1 AND number > 1 AND number <= $2",
        {watch, until}));
    return success();
}

Status drop_watch(Connection& connection, const std::string& watch) {
    TRY(connection.execute("DELETE FROM objects_part WHERE watch = $1", {watch}));
    TRY(connection.execute("DELETE FROM objects_watch WHERE id = $1", {watch}));
    return success();
}

// Counts a part on its first arrival.
Status count_part(Connection& connection, const trace::ObjectsPart& part,
                  const ObjectFigures& figures) {
    TRY(connection.execute(
        "UPDATE objects_watch SET received = received + 1, lost = lost + $2, calls = calls + $3,"
        " failures = CASE WHEN failures < $4 THEN $4 ELSE failures END,"
        " not_told = CASE WHEN not_told < $5 THEN $5 ELSE not_told END WHERE id = $1",
        {part.watch_id, std::min(part.lost_lines, lines_counted_limit), figures.calls,
         figures.failures, figures.not_reported}));
    if (!figures.began_realtime_ns) return success();
    TRY(connection.execute(
        "UPDATE objects_watch SET began_ns = $2, classes = $3, class_count = $4 WHERE id = $1",
        {part.watch_id, *figures.began_realtime_ns, figures.classes, figures.class_count}));
    return success();
}

const std::string watch_columns =
    "SELECT id, host, process, pid, first_ns, last_ns, parts, ended, began_ns, classes,"
    " class_count, calls, failures, lost, received, not_told FROM objects_watch";

ObjectWatch watch_of(const Rows& row) {
    ObjectWatch watch;
    watch.id = row.text(0);
    watch.host = row.text(1);
    watch.process = row.text(2);
    watch.pid = row.small(3);
    watch.first_realtime_ns = row.natural(4);
    watch.last_realtime_ns = row.natural(5);
    watch.parts = row.small(6);
    watch.ended = row.integer(7) != 0;
    watch.began_realtime_ns = row.optional(8);
    watch.classes = lines_of(row.bytes(9));
    watch.class_count = row.natural(10);
    watch.calls = row.optional(11);
    watch.failures = row.optional(12);
    watch.lost_lines = row.optional(13);
    watch.received_parts = row.optional(14);
    watch.not_reported = row.natural(15);
    return watch;
}

Status keep_object_watches_small(Connection& connection, const std::string& newest) {
    std::vector<std::string> gone;
    {
        TRY_ASSIGN(
            const auto rows,
            connection.query("SELECT id, bytes FROM objects_watch ORDER BY last_ns DESC, id"));
        std::uint64_t kept = 0, kept_bytes = 0;
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            kept_bytes += rows->natural(1);
            const bool fits =
                ++kept <= object_watches_limit && kept_bytes <= object_watches_limit_bytes;
            if (!fits && rows->bytes(0) != newest) gone.push_back(rows->text(0));
        }
    }
    for (const std::string& watch : gone) TRY(drop_watch(connection, watch));
    return success();
}

}  // namespace

// A watch belongs to its first sender; nobody else may add to it.
Status add_objects_part(Connection& connection, const Receipt& receipt,
                        const trace::RunBatch& batch, const ObjectFigures& figures) {
    const trace::ObjectsPart& part = *batch.objects;
    const std::string host = stored_text(batch.host), process = stored_text(part.process),
                      sender = stored_text(receipt.sender);
    TRY(connection.execute(
        "INSERT INTO objects_watch(id, host, sender, process, pid, first_ns, last_ns, parts, "
        "ended, bytes,"
        " calls, failures, lost, received) VALUES($1,$2,$3,$4,$5,$6,$6,0,0,0,0,0,0,0) ON "
        "CONFLICT(id) DO NOTHING",
        {part.watch_id, host, sender, process, part.pid, receipt.received_realtime_ns}));
    TRY_ASSIGN(const auto own,
               connection.execute("UPDATE objects_watch SET last_ns = $4, parts = CASE WHEN parts "
                                  "< $5 THEN $5 ELSE parts END,"
                                  " ended = CASE WHEN $6 > ended THEN $6 ELSE ended END WHERE id = "
                                  "$1 AND host = $2 AND sender = $3",
                                  {part.watch_id, host, sender, receipt.received_realtime_ns,
                                   part.number, part.last}));
    if (own == 0)
        return make_error(ErrorKind::Invalid, "this watch of objects is another sender's");
    TRY_ASSIGN(const auto added,
               connection.execute(
                   "INSERT INTO objects_part(watch, number, lost, last, lines) "
                   "VALUES($1,$2,$3,$4,$5) ON CONFLICT(watch, number) DO NOTHING",
                   {part.watch_id, part.number, std::min<std::uint64_t>(part.lost_lines, INT64_MAX),
                    part.last, Value::bytes(part.lines)}));
    if (added != 0) TRY(count_part(connection, part, figures));
    TRY(drop_old_parts(connection, part.watch_id));
    TRY(connection.execute(
        "UPDATE objects_watch SET bytes = (SELECT CAST(coalesce(sum(length(lines)), 0) AS BIGINT) "
        "FROM objects_part WHERE watch = $1) WHERE id = $1",
        {part.watch_id}));
    return keep_object_watches_small(connection, part.watch_id);
}

Status drop_object_watches_before(Connection& connection, std::uint64_t last_ns) {
    TRY(connection.execute(
        "DELETE FROM objects_part WHERE watch IN (SELECT id FROM objects_watch WHERE last_ns < $1)",
        {last_ns}));
    TRY(connection.execute("DELETE FROM objects_watch WHERE last_ns < $1", {last_ns}));
    return success();
}

Result<std::vector<ObjectWatch>> ObjectStore::object_watches(std::uint32_t limit) const {
    std::vector<ObjectWatch> watches;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        watches.clear();
        TRY_ASSIGN(
            const auto rows,
            connection.query(watch_columns + " ORDER BY last_ns DESC, id LIMIT $1", {limit}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            watches.push_back(watch_of(*rows));
        }
    });
    if (!looked) return looked.error();
    return watches;
}

Result<std::optional<ObjectWatch>> ObjectStore::object_watch(const std::string& id) const {
    std::optional<ObjectWatch> watch;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        watch.reset();
        TRY_ASSIGN(const auto rows, connection.query(watch_columns + " WHERE id = $1", {id}));
        TRY_ASSIGN(const bool found, rows->next());
        if (found) watch = watch_of(*rows);
        return success();
    });
    if (!looked) return looked.error();
    return watch;
}

Result<std::vector<StoredObjectsPart>> ObjectStore::objects_parts(const std::string& watch,
                                                                  std::uint32_t after,
                                                                  std::uint64_t limit_bytes) const {
    std::vector<StoredObjectsPart> parts;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        parts.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT number, lost, last, lines FROM objects_part WHERE "
                                    "watch = $1 AND number > $2 ORDER BY number LIMIT $3",
                                    {watch, after, parts_at_once}));
        for (std::uint64_t bytes = 0; bytes < limit_bytes;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            parts.push_back(
                {rows->small(0), rows->natural(1), rows->integer(2) != 0, rows->text(3)});
            bytes += std::max<std::uint64_t>(parts.back().lines.size(), 1);
        }
        return success();
    });
    if (!looked) return looked.error();
    return parts;
}

}  // namespace lagtrap::server
