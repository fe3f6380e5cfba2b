#include <algorithm>

#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

// The daemon maps its clock to the wall clock once for a recording and once for a batch; between the two the wall
// clock may have been adjusted a little.
constexpr std::uint64_t link_slack_ns = 50'000'000;
constexpr std::uint32_t linked_at_once = 1000;

const std::string delay_columns =
    "SELECT b.digest, x.host, x.run, x.number, x.delayed, x.event, x.begin_ns, x.duration_ns, x.threshold_ns, x.pid,"
    " x.tid, x.process, x.thread, x.account, x.build, x.start, x.details, x.profile"
    " FROM delay x JOIN bundle b ON b.number = x.bundle";

Result<StoredDelay> read_delay(Connection& connection, Labels& labels, const Rows& rows) {
    StoredDelay stored;
    stored.bundle = rows.text(0);
    stored.run = rows.optional(2);
    BundleDelay& delay = stored.delay;
    delay.number = rows.small(3);
    delay.delayed = rows.integer(4) != 0;
    delay.begin_realtime_ns = rows.natural(6);
    delay.duration_ns = rows.natural(7);
    delay.threshold_ns = rows.natural(8);
    delay.pid = rows.small(9);
    delay.tid = rows.small(10);
    delay.start = static_cast<trace::StartKind>(rows.integer(15));
    delay.details = rows.text(16);
    delay.profile = rows.text(17);
    TRY_ASSIGN(stored.host, labels.text_of(connection, rows.small(1)));
    TRY_ASSIGN(delay.event, labels.text_of(connection, rows.small(5)));
    TRY_ASSIGN(delay.process, labels.text_of(connection, rows.small(11)));
    TRY_ASSIGN(delay.thread, labels.text_of(connection, rows.small(12)));
    TRY_ASSIGN(delay.user, labels.text_of(connection, rows.small(13)));
    TRY_ASSIGN(delay.build, labels.text_of(connection, rows.small(14)));
    return stored;
}

}  // namespace

Result<std::vector<StoredDelay>> SqlStore::delays(const std::string& digest) {
    std::vector<StoredDelay> found;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query(delay_columns + " WHERE b.digest = $1 AND x.delayed = 1 ORDER BY x.number, x.id",
                                    {digest}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            TRY_ASSIGN(auto delay, read_delay(connection, labels_, *rows));
            found.push_back(std::move(delay));
        }
    });
    if (!looked) return looked.error();
    return found;
}

Status SqlStore::profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                          const std::function<bool(StoredDelay&&)>& take) {
    // In pages, so that a database that answers all at once does not hold all profiles in memory.
    constexpr std::uint32_t at_once = 200;
    std::optional<PageKey> after;
    std::uint32_t taken = 0;
    for (bool more = true; more && taken < limit;) {
        std::vector<StoredDelay> page;
        const Status looked_2 =
            read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
                page.clear();
                Where where;
                add_delay_conditions(where, numbered);
                where.add("x.delayed = ?", delayed);
                where.add("length(x.profile) > 0");
                if (!filter.with_dirty)
                    where.add(
                        "coalesce((SELECT m.dirty FROM run_mark m WHERE m.run = x.run ORDER BY m.id DESC LIMIT 1), 0)"
                        " = 0");
                if (after) {
                    const std::string value = where.parameter(after->value), id = where.parameter(after->id);
                    where.add("(x.begin_ns, x.id) < (" + value + ", " + id + ")");
                }
                std::string sql = delay_columns;
                sql.replace(sql.find(", x.profile") + 11, 0, ", x.id");
                TRY_ASSIGN(const auto rows,
                           connection.query(sql + where.sql() + " ORDER BY x.begin_ns DESC, x.id DESC LIMIT " +
                                                std::to_string(std::min(at_once, limit - taken)),
                                            where.values()));
                for (;;) {
                    TRY_ASSIGN(const bool there, rows->next());
                    if (!there) return success();
                    TRY_ASSIGN(auto delay, read_delay(connection, labels_, *rows));
                    after = PageKey{delay.delay.begin_realtime_ns, rows->natural(18)};
                    page.push_back(std::move(delay));
                }
            });
        if (!looked_2) return looked_2.error();
        more = page.size() == std::min(at_once, limit - taken);
        taken += static_cast<std::uint32_t>(page.size());
        for (StoredDelay& delay : page)
            if (!take(std::move(delay))) return success();
    }
    return success();
}

// `delay`: id, event, begin_ns, host, pid, tid.
Result<std::optional<std::uint64_t>> SqlStore::find_run_of_delay(Connection& connection, const Rows& delay) {
    const std::uint64_t begin_ns = delay.natural(2);
    const std::uint64_t from_ns = begin_ns > link_slack_ns ? begin_ns - link_slack_ns : 0;
    const std::uint64_t to_ns = begin_ns + link_slack_ns;
    NumberedFilter filter;
    filter.event = delay.small(1);
    filter.host = delay.small(3);
    filter.from_given = filter.to_given = true;
    filter.from_ns = from_ns;
    filter.to_ns = to_ns;
    Where where;
    add_run_conditions(where, filter);
    std::vector<RawRun> candidates;
    TRY_ASSIGN(const auto rows, connection.query(run_columns() + " FROM run r" + database_->dialect().detail_join +
                                                     where.sql() + " LIMIT " + std::to_string(linked_at_once),
                                                 where.values()));
    TRY(read_runs(*rows, candidates));
    std::optional<std::uint64_t> nearest;
    std::uint64_t nearest_ns = UINT64_MAX;
    for (const auto& [record, detail] : candidates) {
        if (detail.pid != delay.small(4) || detail.begin_tid != delay.small(5)) continue;
        const std::uint64_t apart_ns = std::max(record.begin_ns, begin_ns) - std::min(record.begin_ns, begin_ns);
        if (apart_ns >= nearest_ns) continue;
        nearest_ns = apart_ns;
        nearest = record.id;
    }
    return nearest;
}

Status SqlStore::link_delays(std::optional<std::uint32_t> host, std::uint64_t from_ns, std::uint64_t to_ns) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> links;  // delay, run
    const Status looked = database_->read([&](Connection& connection) -> Status {
        links.clear();
        Where where;
        where.add("run IS NULL");
        where.add("delayed = 1");
        if (host) where.add("host = ?", *host);
        where.add("begin_ns >= ?", from_ns > link_slack_ns ? from_ns - link_slack_ns : 0);
        where.add("begin_ns <= ?", std::min<std::uint64_t>(to_ns, INT64_MAX - link_slack_ns) + link_slack_ns);
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT id, event, begin_ns, host, pid, tid FROM delay" + where.sql() +
                                        " ORDER BY begin_ns DESC LIMIT " + std::to_string(linked_at_once),
                                    where.values()));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            TRY_ASSIGN(const auto run, find_run_of_delay(connection, *rows));
            if (run) links.emplace_back(rows->natural(0), *run);
        }
    });
    if (!looked) return looked.error();
    if (links.empty()) return success();
    return database_->write([&](Connection& connection) -> Status {
        for (const auto& [delay, run] : links)
            TRY(connection.execute("UPDATE delay SET run = $1 WHERE id = $2", {run, delay}));
        return success();
    });
}

}  // namespace lagtrap::server
