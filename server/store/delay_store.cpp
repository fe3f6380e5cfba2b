#include "server/store/delay_store.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t summarised_limit = 200'000;

constexpr std::size_t cause_counts_limit = 1000;

const std::string delay_columns =
    "SELECT b.digest, x.host, x.run, x.number, x.delayed, x.event, x.begin_ns, x.duration_ns, "
    "x.threshold_ns, x.pid,"
    " x.tid, x.process, x.thread, x.account, x.build, x.start, x.details, x.profile, x.unit, "
    "x.trace_id";

// An empty text in place of the profile.
std::string without_profile() {
    std::string columns = delay_columns;
    columns.replace(columns.find("x.profile"), 9, "''");
    return columns;
}

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
    delay.trace_id = rows.text(19);
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

Result<SearchedDelays> DelayStore::searched_delays(const Filter& filter) const {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    SearchedDelays searched;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            searched = {};
            Where where;
            add_delay_conditions(where, numbered);
            where.add("x.delayed = 1");
            where.add("length(x.profile) > 0");
            TRY_ASSIGN(
                const auto counted,
                connection.query("SELECT count(*) FROM delay x" + where.sql(), where.values()));
            TRY(counted->next());
            searched.delays = counted->natural(0);
            TRY_ASSIGN(
                const auto rows,
                connection.query("SELECT c.root, count(DISTINCT x.id) FROM delay x JOIN "
                                 "cause_delay d ON d.bundle = "
                                 "x.bundle AND d.number = x.number JOIN cause c ON c.id = d.cause" +
                                     where.sql() + " GROUP BY c.root",
                                 where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                searched.of_cause[rows->natural(0)] = rows->natural(1);
            }
        });
    if (!looked) return looked.error();
    return searched;
}

Result<std::map<std::uint64_t, std::uint64_t>> DelayStore::searched_by_day(
    const Filter& filter) const {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    std::map<std::uint64_t, std::uint64_t> days;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            days.clear();
            Where where;
            add_delay_conditions(where, numbered);
            where.add("x.delayed = 1");
            where.add("length(x.profile) > 0");
            const std::string day = "x.begin_ns / " + std::to_string(day_ns);
            TRY_ASSIGN(const auto rows,
                       connection.query("SELECT " + day + ", count(*) FROM delay x" + where.sql() +
                                            " GROUP BY " + day,
                                        where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                days[rows->natural(0) * day_ns] = rows->natural(1);
            }
        });
    if (!looked) return looked.error();
    return days;
}

Result<std::vector<StoredDelay>> DelayStore::of_bundle(const std::string& digest) const {
    std::vector<StoredDelay> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(
            const auto rows,
            connection.query(delay_columns + delays_of_bundles +
                                 " WHERE b.digest = $1 AND x.delayed = 1 ORDER BY x.number, x.id",
                             {digest}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            TRY_ASSIGN(auto delay, read_delay(connection, session_->labels(), *rows));
            found.push_back(std::move(delay));
        }
    });
    if (!looked) return looked.error();
    std::erase_if(found, [&](const StoredDelay& stored) {
        return !visibility_.sees(stored.delay.event, stored.delay.unit);
    });
    return found;
}

Result<std::optional<StoredDelay>> DelayStore::find_delay(const std::string& digest,
                                                          std::uint32_t number) const {
    std::optional<StoredDelay> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.reset();
        TRY_ASSIGN(const auto rows,
                   connection.query(delay_columns + delays_of_bundles +
                                        " WHERE b.digest = $1 AND x.delayed = 1 AND x.number = $2",
                                    {digest, number}));
        TRY_ASSIGN(const bool there, rows->next());
        if (!there) return success();
        TRY_ASSIGN(found, read_delay(connection, session_->labels(), *rows));
        return success();
    });
    if (!looked) return looked.error();
    if (found && !visibility_.sees(found->delay.event, found->delay.unit)) found.reset();
    return found;
}

Result<DelayPage> DelayStore::list_delays(const Filter& filter, const std::string& digest,
                                          RunOrder order, std::uint32_t limit,
                                          std::optional<PageKey> after) const {
    limit = std::clamp<std::uint32_t>(limit, 1, page_limit);
    const bool by_time = order != RunOrder::Slowest, rises = order == RunOrder::Oldest;
    const std::string column = by_time ? "x.begin_ns" : "x.duration_ns";
    const std::string direction = rises ? "" : " DESC";
    const std::string columns = without_profile();
    DelayPage page;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            page = {};
            Where where;
            add_delay_conditions(where, numbered);
            if (!digest.empty()) where.add("b.digest = ?", digest);
            where.add("x.delayed = 1");
            if (after) {
                const std::string value = where.parameter(after->value),
                                  id = where.parameter(after->id);
                where.add("(" + column + ", x.id)" + (rises ? " > (" : " < (") + value + ", " + id +
                          ")");
            }
            TRY_ASSIGN(const auto rows,
                       connection.query(columns + ", x.id" + delays_of_bundles + where.sql() +
                                            " ORDER BY " + column + direction + ", x.id" +
                                            direction + " LIMIT " + std::to_string(limit + 1),
                                        where.values()));
            std::optional<PageKey> last;
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                if (page.delays.size() == limit) {
                    page.next = last;
                    return success();
                }
                TRY_ASSIGN(auto delay, read_delay(connection, session_->labels(), *rows));
                last = PageKey{by_time ? delay.delay.begin_realtime_ns : delay.delay.duration_ns,
                               rows->natural(20)};
                page.delays.push_back(std::move(delay));
            }
        });
    if (!looked) return looked.error();
    return page;
}

Result<std::vector<StoredDelay>> DelayStore::of_trace(const std::string& trace_id,
                                                      std::uint32_t limit) const {
    std::vector<StoredDelay> found;
    const Status looked = session_->read_filtered(
        {}, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            found.clear();
            Where where;
            add_delay_conditions(where, numbered);
            // The index has only delays with a trace.
            where.add("x.trace_id <> ''");
            where.add("x.trace_id = ?", trace_id);
            where.add("x.delayed = 1");
            TRY_ASSIGN(const auto rows,
                       connection.query(without_profile() + delays_of_bundles + where.sql() +
                                            " ORDER BY x.begin_ns DESC, x.id DESC LIMIT " +
                                            std::to_string(limit),
                                        where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                TRY_ASSIGN(auto delay, read_delay(connection, session_->labels(), *rows));
                found.push_back(std::move(delay));
            }
        });
    if (!looked) return looked.error();
    return found;
}

Result<std::vector<DelayCount>> DelayStore::name_counts(
    Connection& connection, const std::map<std::uint32_t, DelayCount>& counts) const {
    std::vector<DelayCount> named;
    for (const auto& [label, count] : counts) {
        named.push_back(count);
        TRY_ASSIGN(named.back().name, session_->labels().text_of(connection, label));
    }
    std::stable_sort(named.begin(), named.end(),
                     [](const DelayCount& a, const DelayCount& b) { return a.delays > b.delays; });
    if (named.size() > cause_counts_limit) named.resize(cause_counts_limit);
    return named;
}

Result<DelaySummary> DelayStore::summarise_delays(const Filter& filter) const {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    DelaySummary found;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            found = {};
            Where where;
            add_delay_conditions(where, numbered);
            where.add("x.delayed = 1");
            {
                TRY_ASSIGN(
                    const auto rows,
                    connection.query("SELECT count(*) FROM delay x" + where.sql(), where.values()));
                TRY_ASSIGN(const bool counted, rows->next());
                if (counted) found.delays = rows->natural(0);
            }
            std::map<std::uint64_t, HourCount> hours;
            std::map<std::uint32_t, DelayCount> hosts, builds, units;
            {
                TRY_ASSIGN(const auto rows,
                           connection.query("SELECT x.begin_ns, x.duration_ns, x.threshold_ns, "
                                            "x.host, x.build, x.unit FROM delay x" +
                                                where.sql() + " ORDER BY x.begin_ns DESC LIMIT " +
                                                std::to_string(summarised_limit),
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
                    for (DelayCount* count : {&hosts[rows->small(3)], &builds[rows->small(4)],
                                              &units[rows->small(5)]}) {
                        ++count->delays;
                        count->longest_ns = std::max(count->longest_ns, duration_ns);
                    }
                }
            }
            found.summary.delay_durations = found.summary.durations;
            found.summary.counts.records = found.summary.counts.runs = found.summary.counts.delays =
                found.delays_read;
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

Status DelayStore::profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                            const std::function<bool(StoredDelay&&)>& take) const {
    // In pages, because a database that sends all rows at once would put all profiles into memory.
    constexpr std::uint32_t at_once = 200;
    std::optional<PageKey> after;
    std::uint32_t taken = 0;
    for (bool more = true; more && taken < limit;) {
        std::vector<StoredDelay> page;
        const Status looked_2 = session_->read_filtered(
            filter, visibility_,
            [&](Connection& connection, const NumberedFilter& numbered) -> Status {
                page.clear();
                Where where;
                add_delay_conditions(where, numbered);
                where.add("x.delayed = ?", delayed);
                where.add("length(x.profile) > 0");
                if (!filter.with_dirty || filter.only_dirty)
                    where.add(
                        "coalesce((SELECT CASE WHEN m.rule = 'duration' THEN 0 ELSE m.dirty END "
                        "FROM run_mark m WHERE m.run = x.run ORDER BY m.id DESC LIMIT 1), 0)" +
                        std::string(filter.only_dirty ? " = 1" : " = 0"));
                if (after) {
                    const std::string value = where.parameter(after->value),
                                      id = where.parameter(after->id);
                    where.add("(x.begin_ns, x.id) < (" + value + ", " + id + ")");
                }
                const std::string sql = delay_columns + ", x.id" + delays_of_bundles;
                TRY_ASSIGN(const auto rows,
                           connection.query(sql + where.sql() +
                                                " ORDER BY x.begin_ns DESC, x.id DESC LIMIT " +
                                                std::to_string(std::min(at_once, limit - taken)),
                                            where.values()));
                for (;;) {
                    TRY_ASSIGN(const bool there, rows->next());
                    if (!there) return success();
                    TRY_ASSIGN(auto delay, read_delay(connection, session_->labels(), *rows));
                    after = PageKey{delay.delay.begin_realtime_ns, rows->natural(20)};
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

}  // namespace lagtrap::server
