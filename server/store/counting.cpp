#include "server/store/counting.hpp"

#include <algorithm>

#include "server/store/rollup.hpp"

namespace lagtrap::server {
namespace {

// Visits whole buckets of a level, `from` to before `to`.
Status each_rollup(Connection& connection, const NumberedFilter& filter, RollupLevel level,
                   std::uint64_t from, std::uint64_t to, Detail detail, const TakePiece& take) {
    if (from >= to) return success();
    Where where;
    if (filter.event) where.add("event = ?", *filter.event);
    where.add("level = ?", level);
    where.add("bucket >= ?", from);
    where.add("bucket < ?", to);
    where.add_any_of("build", filter.build);
    if (filter.start) where.add("start = ?", *filter.start);
    if (filter.sight) where.add("event IN (" + id_list(filter.sight->events) + ")");
    where.add("records > 0");
    const bool sketches = detail == Detail::Sketches;
    TRY_ASSIGN(
        const auto rows,
        connection.query(
            "SELECT bucket, build, dirty, records, runs, delays, longest_ns, event, last_ns" +
                std::string(sketches ? ", sketch, delay_sketch" : "") + " FROM rollup" +
                where.sql(),
            where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        Piece piece;
        piece.hour = rows->natural(0) * (level == RollupLevel::Day ? hours_a_day : 1);
        piece.build = rows->small(1);
        piece.mark = static_cast<RunMark>(rows->integer(2));
        piece.records = rows->natural(3);
        piece.runs = rows->natural(4);
        piece.delays = rows->natural(5);
        piece.longest_ns = rows->natural(6);
        piece.event = rows->small(7);
        piece.last_ns = rows->natural(8);
        piece.rolled_up = true;
        if (sketches) {
            piece.sketch = rows->bytes(9);
            piece.delay_sketch = rows->bytes(10);
        }
        TRY(take(piece));
    }
}

Status each_run(Connection& connection, const Dialect& dialect, NumberedFilter filter,
                std::uint64_t from_ns, std::uint64_t to_ns, const TakePiece& take) {
    if (from_ns >= to_ns) return success();
    filter.from_given = filter.from_given || from_ns > 0;
    filter.to_given = filter.to_given || to_ns < INT64_MAX;
    filter.from_ns = from_ns;
    filter.to_ns = to_ns;
    Where where;
    add_run_conditions(where, filter);
    if (!filter.event) {
        // Without an event the rows are not adjacent, but ids are in order of time.
        where.add(std::string(dialect.time_id) + " >= ?", first_run_id_of_hour(from_ns / hour_ns));
        where.add(std::string(dialect.time_id) + " < ?", first_run_id_of_hour(to_ns / hour_ns + 1));
    }
    const std::string tail =
        std::string(" FROM ") + (filter.event ? "run r" : dialect.runs_by_time) + where.sql();
    const std::string hour = "r.begin_ns / " + std::to_string(hour_ns);
    const std::string sql =
        dialect.groups_well
            ? "SELECT " + hour +
                  ", r.build, r.dirty, r.delay, r.bin, count(*), CAST(sum(r.weight) AS BIGINT),"
                  " max(r.duration_ns), r.event, max(r.begin_ns)" +
                  tail + " GROUP BY 1, 2, 3, 4, 5, r.event"
            : "SELECT " + hour +
                  ", r.build, r.dirty, r.delay, r.bin, 1, r.weight, r.duration_ns, r.event, "
                  "r.begin_ns" +
                  tail;
    TRY_ASSIGN(const auto rows, connection.query(sql, where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        Piece piece;
        piece.hour = rows->natural(0);
        piece.build = rows->small(1);
        piece.mark = static_cast<RunMark>(rows->integer(2));
        piece.bin = static_cast<std::uint16_t>(rows->integer(4));
        piece.records = rows->natural(5);
        piece.runs = rows->natural(6);
        piece.delays = rows->integer(3) != 0 ? piece.runs : 0;
        piece.longest_ns = rows->natural(7);
        piece.event = rows->small(8);
        piece.last_ns = rows->natural(9);
        TRY(take(piece));
    }
}

}  // namespace

Status each_piece(Connection& connection, const Dialect& dialect, const NumberedFilter& filter,
                  Detail detail, Grain grain, const TakePiece& take) {
    if (!filter.fits_rollups())
        return each_run(connection, dialect, filter, filter.from_ns, filter.to_ns, take);
    const std::uint64_t from_hour = (filter.from_ns + hour_ns - 1) / hour_ns,
                        to_hour = filter.to_ns / hour_ns;
    if (from_hour >= to_hour)
        return each_run(connection, dialect, filter, filter.from_ns, filter.to_ns, take);
    TRY(each_run(connection, dialect, filter, filter.from_ns, from_hour * hour_ns, take));
    if (filter.to_given)
        TRY(each_run(connection, dialect, filter, to_hour * hour_ns, filter.to_ns, take));
    const std::uint64_t from_day = (from_hour + hours_a_day - 1) / hours_a_day,
                        to_day = to_hour / hours_a_day;
    if (grain == Grain::Hour || from_day >= to_day)
        return each_rollup(connection, filter, RollupLevel::Hour, from_hour, to_hour, detail, take);
    TRY(each_rollup(connection, filter, RollupLevel::Hour, from_hour, from_day * hours_a_day,
                    detail, take));
    TRY(each_rollup(connection, filter, RollupLevel::Hour, to_day * hours_a_day, to_hour, detail,
                    take));
    return each_rollup(connection, filter, RollupLevel::Day, from_day, to_day, detail, take);
}

Status add_piece(const Piece& piece, Sketch& durations, Sketch* delay_durations) {
    if (piece.rolled_up) {
        TRY(durations.merge_serialised(piece.sketch));
        return delay_durations == nullptr ? success()
                                          : delay_durations->merge_serialised(piece.delay_sketch);
    }
    durations.add_bin(piece.bin, piece.runs);
    if (delay_durations != nullptr) delay_durations->add_bin(piece.bin, piece.delays);
    return success();
}

}  // namespace lagtrap::server
