#include "server/store/delay_links.hpp"

#include <algorithm>
#include <map>

#include "server/store/run_rows.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

// The daemon maps its clock to wall-clock time separately for each recording and each batch; the
// wall clock may have been adjusted in between.
constexpr std::uint64_t link_slack_ns = 50'000'000;

constexpr std::uint32_t linked_at_once = 1000;

}  // namespace

// Columns of `delay`: id, event, begin_ns, host, pid, tid.
Result<std::optional<std::uint64_t>> DelayLinks::find_run_of_delay(Connection& connection,
                                                                   const Rows& delay) const {
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
    TRY_ASSIGN(const auto rows, connection.query(run_columns(session_->dialect()) + " FROM run r" +
                                                     session_->dialect().detail_join + where.sql() +
                                                     " LIMIT " + std::to_string(linked_at_once),
                                                 where.values()));
    TRY(read_runs(*rows, candidates));
    std::optional<std::uint64_t> nearest;
    std::uint64_t nearest_ns = UINT64_MAX;
    for (const auto& [record, detail] : candidates) {
        if (detail.pid != delay.small(4) || detail.begin_tid != delay.small(5)) continue;
        const std::uint64_t apart_ns =
            std::max(record.begin_ns, begin_ns) - std::min(record.begin_ns, begin_ns);
        if (apart_ns >= nearest_ns) continue;
        nearest_ns = apart_ns;
        nearest = record.id;
    }
    return nearest;
}

Status DelayLinks::link(std::optional<std::uint32_t> host, std::uint64_t from_ns,
                        std::uint64_t to_ns) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> links;  // delay, run
    const Status looked = session_->read([&](Connection& connection) -> Status {
        links.clear();
        Where where;
        where.add("run IS NULL");
        where.add("delayed = 1");
        if (host) where.add("host = ?", *host);
        where.add("begin_ns >= ?", from_ns > link_slack_ns ? from_ns - link_slack_ns : 0);
        where.add("begin_ns <= ?",
                  std::min<std::uint64_t>(to_ns, INT64_MAX - link_slack_ns) + link_slack_ns);
        TRY_ASSIGN(
            const auto rows,
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
    return session_->write([&](Connection& connection) -> Status {
        for (const auto& [delay, run] : links)
            TRY(connection.execute("UPDATE delay SET run = $1 WHERE id = $2", {run, delay}));
        return success();
    });
}

}  // namespace lagtrap::server
