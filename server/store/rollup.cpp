#include "server/store/rollup.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::server {
namespace {

constexpr const char* where_key =
    " WHERE event = $1 AND level = $2 AND bucket = $3 AND build = $4 AND start = $5 AND dirty = $6";

}  // namespace

void RollupChange::change(const RunRecord& run, bool added) {
    for (const auto& [level, length_ns] :
         {std::pair(RollupLevel::Hour, hour_ns), std::pair(RollupLevel::Day, day_ns)}) {
        Delta& delta =
            deltas_[{run.event, level, run.begin_ns / length_ns, run.build, run.start, run.mark}];
        Part& part = added ? delta.added : delta.removed;
        part.records += 1;
        part.runs += run.weight;
        part.durations.add_bin(run.bin, run.weight);
        part.longest_ns = std::max(part.longest_ns, run.duration_ns);
        part.last_ns = std::max(part.last_ns, run.begin_ns);
        if (!run.delay) continue;
        part.delays += run.weight;
        part.delay_durations.add_bin(run.bin, run.weight);
    }
}

Status RollupChange::apply(Connection& connection, const Dialect& dialect) const {
    for (const auto& [key, delta] : deltas_) TRY(apply_one(connection, dialect, key, delta));
    return success();
}

Result<RollupChange::Row> RollupChange::read_row(Connection& connection, const Dialect& dialect,
                                                 const RollupKey& key) {
    Row row;
    TRY_ASSIGN(
        const auto rows,
        connection.query(
            "SELECT records, runs, delays, longest_ns, last_ns, sketch, delay_sketch FROM rollup" +
                std::string(where_key) + dialect.lock_rows,
            {key.event, key.level, key.bucket, key.build, key.start, key.mark}));
    TRY_ASSIGN(row.found, rows->next());
    if (!row.found) return row;
    row.part = {rows->integer(0),
                rows->integer(1),
                rows->integer(2),
                rows->natural(3),
                rows->natural(4),
                {},
                {}};
    TRY(row.part.durations.merge_serialised(rows->bytes(5)));
    TRY(row.part.delay_durations.merge_serialised(rows->bytes(6)));
    return row;
}

Result<RollupChange::Row> RollupChange::find_or_make_row(Connection& connection,
                                                         const Dialect& dialect,
                                                         const RollupKey& key) {
    TRY_ASSIGN(Row row, read_row(connection, dialect, key));
    if (row.found) return row;
    // Inserts an empty row first: another server may be creating the same row, and its numbers must
    // not be overwritten.
    TRY(connection.execute(
        "INSERT INTO rollup(event, level, bucket, build, start, dirty, records, runs, delays,"
        " longest_ns, last_ns, sketch, delay_sketch) VALUES($1,$2,$3,$4,$5,$6,0,0,0,0,0,$7,$7) ON "
        "CONFLICT DO NOTHING",
        {key.event, key.level, key.bucket, key.build, key.start, key.mark, Value::bytes("")}));
    return read_row(connection, dialect, key);
}

Status RollupChange::find_extremes(Connection& connection, const RollupKey& key, Part& part) {
    const std::uint64_t length_ns = key.level == RollupLevel::Hour ? hour_ns : day_ns;
    const std::uint64_t from_ns = key.bucket * length_ns, to_ns = from_ns + length_ns;
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT max(duration_ns), max(begin_ns) FROM run WHERE event = $1 "
                                "AND begin_ns >= $2 AND begin_ns < $3 AND build = $4 AND start = "
                                "$5 AND dirty = $6 AND id >= $7 AND id < $8",
                                {key.event, from_ns, to_ns, key.build, key.start, key.mark,
                                 first_run_id_of_hour(from_ns / hour_ns),
                                 first_run_id_of_hour(to_ns / hour_ns)}));
    TRY(rows->next());
    part.longest_ns = rows->natural(0);
    part.last_ns = rows->natural(1);
    return success();
}

Status RollupChange::apply_one(Connection& connection, const Dialect& dialect, const RollupKey& key,
                               const Delta& delta) {
    TRY_ASSIGN(Row row, find_or_make_row(connection, dialect, key));
    Part& part = row.part;
    const Part &added = delta.added, &removed = delta.removed;
    const bool extremes_gone = removed.records > 0 && (removed.longest_ns >= part.longest_ns ||
                                                       removed.last_ns >= part.last_ns);
    part.records += added.records - removed.records;
    part.runs += added.runs - removed.runs;
    part.delays += added.delays - removed.delays;
    part.durations.merge(added.durations);
    part.durations.subtract(removed.durations);
    part.delay_durations.merge(added.delay_durations);
    part.delay_durations.subtract(removed.delay_durations);
    part.longest_ns = std::max(part.longest_ns, added.longest_ns);
    part.last_ns = std::max(part.last_ns, added.last_ns);
    if (extremes_gone) TRY(find_extremes(connection, key, part));
    const std::string durations = part.durations.serialise(),
                      delay_durations = part.delay_durations.serialise();
    TRY(connection.execute(
        "UPDATE rollup SET records = $7, runs = $8, delays = $9, longest_ns = $10, last_ns = $11,"
        " sketch = $12, delay_sketch = $13" +
            std::string(where_key),
        {key.event, key.level, key.bucket, key.build, key.start, key.mark, part.records, part.runs,
         part.delays, part.longest_ns, part.last_ns, Value::bytes(durations),
         Value::bytes(delay_durations)}));
    return success();
}

}  // namespace lagtrap::server
