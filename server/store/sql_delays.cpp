#include <algorithm>
#include <map>

#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

// The daemon maps its clock to wall-clock time separately for each recording and each batch; the
// wall clock may have been adjusted in between.
constexpr std::uint64_t link_slack_ns = 50'000'000;
constexpr std::uint32_t linked_at_once = 1000;
constexpr std::uint32_t summarised_limit = 200'000;
constexpr std::size_t cause_counts_limit = 1000;

const std::string delay_columns =
    "SELECT b.digest, x.host, x.run, x.number, x.delayed, x.event, x.begin_ns, x.duration_ns, x.threshold_ns, x.pid,"
    " x.tid, x.process, x.thread, x.account, x.build, x.start, x.details, x.profile, x.unit";
const std::string delays_of_bundles = " FROM delay x JOIN bundle b ON b.number = x.bundle";

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
    TRY_ASSIGN(delay.unit, labels.text_of(connection, rows.small(18)));
    TRY_ASSIGN(delay.build, labels.text_of(connection, rows.small(14)));
    return stored;
}

}  // namespace

Result<std::vector<StoredDelay>> SqlStore::delays(const std::string& digest) {
    std::vector<StoredDelay> found;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query(delay_columns + delays_of_bundles +
                                        " WHERE b.digest = $1 AND x.delayed = 1 ORDER BY x.number, x.id",
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

Result<std::optional<StoredDelay>> SqlStore::find_delay(const std::string& digest, std::uint32_t number) {
    std::optional<StoredDelay> found;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        found.reset();
        TRY_ASSIGN(const auto rows, connection.query(delay_columns + delays_of_bundles +
                                                         " WHERE b.digest = $1 AND x.delayed = 1 AND x.number = $2",
                                                     {digest, number}));
        TRY_ASSIGN(const bool there, rows->next());
        if (!there) return success();
        TRY_ASSIGN(found, read_delay(connection, labels_, *rows));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<DelayPage> SqlStore::list_delays(const Filter& filter, const std::string& digest, RunOrder order,
                                        std::uint32_t limit, std::optional<PageKey> after) {
    limit = std::clamp<std::uint32_t>(limit, 1, page_limit);
    const bool by_time = order != RunOrder::Slowest, rises = order == RunOrder::Oldest;
    const std::string column = by_time ? "x.begin_ns" : "x.duration_ns";
    const std::string direction = rises ? "" : " DESC";
    std::string columns = delay_columns;
    columns.replace(columns.find("x.profile"), 9, "''");
    DelayPage page;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        page = {};
        Where where;
        add_delay_conditions(where, numbered);
        if (!digest.empty()) where.add("b.digest = ?", digest);
        where.add("x.delayed = 1");
        if (after) {
            const std::string value = where.parameter(after->value), id = where.parameter(after->id);
            where.add("(" + column + ", x.id)" + (rises ? " > (" : " < (") + value + ", " + id + ")");
        }
        TRY_ASSIGN(const auto rows,
                   connection.query(columns + ", x.id" + delays_of_bundles + where.sql() + " ORDER BY " + column +
                                        direction + ", x.id" + direction + " LIMIT " + std::to_string(limit + 1),
                                    where.values()));
        std::optional<PageKey> last;
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            if (page.delays.size() == limit) {
                page.next = last;
                return success();
            }
            TRY_ASSIGN(auto delay, read_delay(connection, labels_, *rows));
            last = PageKey{by_time ? delay.delay.begin_realtime_ns : delay.delay.duration_ns, rows->natural(19)};
            page.delays.push_back(std::move(delay));
        }
    });
    if (!looked) return looked.error();
    return page;
}

Result<std::vector<DelayCount>> SqlStore::name_counts(Connection& connection,
                                                      const std::map<std::uint32_t, DelayCount>& counts) {
    std::vector<DelayCount> named;
    for (const auto& [label, count] : counts) {
        named.push_back(count);
        TRY_ASSIGN(named.back().name, labels_.text_of(connection, label));
    }
    std::stable_sort(named.begin(), named.end(),
                     [](const DelayCount& a, const DelayCount& b) { return a.delays > b.delays; });
    if (named.size() > cause_counts_limit) named.resize(cause_counts_limit);
    return named;
}

Result<DelaySummary> SqlStore::summarise_delays(const Filter& filter) {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    DelaySummary found;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        found = {};
        Where where;
        add_delay_conditions(where, numbered);
        where.add("x.delayed = 1");
        {
            TRY_ASSIGN(const auto rows, connection.query("SELECT count(*) FROM delay x" + where.sql(), where.values()));
            TRY_ASSIGN(const bool counted, rows->next());
            if (counted) found.delays = rows->natural(0);
        }
        std::map<std::uint64_t, HourCount> hours;
        std::map<std::uint32_t, DelayCount> hosts, builds, units;
        {
            TRY_ASSIGN(const auto rows,
                       connection.query(
                           "SELECT x.begin_ns, x.duration_ns, x.threshold_ns, x.host, x.build, x.unit FROM delay x" +
                               where.sql() + " ORDER BY x.begin_ns DESC LIMIT " + std::to_string(summarised_limit),
                           where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                const std::uint64_t duration_ns = rows->natural(1);
                if (++found.delays_read == 1) found.threshold_ns = rows->natural(2);
                Summary& summary = found.summary;
                summary.longest_ns = std::max(summary.longest_ns, duration_ns);
                summary.durations.add(duration_ns);
                HourCount& hour = hours[rows->natural(0) / hour_ns];
                ++hour.runs;
                ++hour.delays;
                for (DelayCount* count : {&hosts[rows->small(3)], &builds[rows->small(4)], &units[rows->small(5)]}) {
                    ++count->delays;
                    count->longest_ns = std::max(count->longest_ns, duration_ns);
                }
            }
        }
        found.summary.delay_durations = found.summary.durations;
        found.summary.counts.records = found.summary.counts.runs = found.summary.counts.delays = found.delays_read;
        for (auto& [hour, count] : hours) {
            count.hour_ns = hour * hour_ns;
            found.summary.hours.push_back(count);
        }
        TRY_ASSIGN(found.hosts, name_counts(connection, hosts));
        TRY_ASSIGN(found.builds, name_counts(connection, builds));
        TRY_ASSIGN(found.units, name_counts(connection, units));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Status SqlStore::profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                          const std::function<bool(StoredDelay&&)>& take) {
    // In pages, because a database that sends all rows at once would put all profiles into memory.
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
                if (!filter.with_dirty || filter.only_dirty)
                    where.add(
                        "coalesce((SELECT CASE WHEN m.rule = 'duration' THEN 0 ELSE m.dirty END FROM run_mark m"
                        " WHERE m.run = x.run ORDER BY m.id DESC LIMIT 1), 0)" +
                        std::string(filter.only_dirty ? " = 1" : " = 0"));
                if (after) {
                    const std::string value = where.parameter(after->value), id = where.parameter(after->id);
                    where.add("(x.begin_ns, x.id) < (" + value + ", " + id + ")");
                }
                const std::string sql = delay_columns + ", x.id" + delays_of_bundles;
                TRY_ASSIGN(const auto rows,
                           connection.query(sql + where.sql() + " ORDER BY x.begin_ns DESC, x.id DESC LIMIT " +
                                                std::to_string(std::min(at_once, limit - taken)),
                                            where.values()));
                for (;;) {
                    TRY_ASSIGN(const bool there, rows->next());
                    if (!there) return success();
                    TRY_ASSIGN(auto delay, read_delay(connection, labels_, *rows));
                    after = PageKey{delay.delay.begin_realtime_ns, rows->natural(19)};
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

// Columns of `delay`: id, event, begin_ns, host, pid, tid.
Result<std::optional<std::uint64_t>> SqlStore::find_run_of_delay(Connection& connection, const Rows& delay) {
    const std::uint64_t begin_ns = delay.natural(2);
    const std::uint64_t from_ns = begin_ns > link_slack_ns ? begin_ns - link_slack_ns : 0;
    const std::uint64_t to_ns = begin_ns + link_slack_ns;
    NumberedFilter filter;
    filter.event = delay.small(1);
    filter.host = {delay.small(3)};
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
