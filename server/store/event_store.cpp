#include "server/store/event_store.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "server/store/counting.hpp"
#include "server/store/rollup.hpp"
#include "server/store/run_store.hpp"
#include "server/store/sight_sql.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t losing_hosts_limit = 20;

}  // namespace

Status EventStore::count_run_events(Connection& connection, const NumberedFilter& filter,
                                    std::map<std::uint32_t, EventRow>& events) const {
    const auto count = [&](const NumberedFilter& part) {
        return each_piece(connection, session_->dialect(), part, Detail::Counts, Grain::Day,
                          [&](const Piece& piece) -> Status {
                              if (!part.shows(piece.mark)) return success();
                              EventRow& row = events[piece.event];
                              row.runs += piece.runs;
                              row.delays += piece.delays;
                              row.last_realtime_ns = std::max(row.last_realtime_ns, piece.last_ns);
                              return success();
                          });
    };
    if (!filter.sight || filter.event) return count(filter);
    // Roll-ups have events but no units, so events that are visible completely are counted
    // separately from the others.
    NumberedFilter part = filter;
    part.sight->units.clear();
    if (!part.sight->events.empty()) TRY(count(part));
    TRY_ASSIGN(const auto in_part, events_seen_in_part(connection, *filter.sight));
    part.sight = NumberedSight{{}, filter.sight->units};
    for (const std::uint64_t event : in_part) {
        part.event = static_cast<std::uint32_t>(event);
        TRY(count(part));
    }
    return success();
}

Status EventStore::count_bundle_events(Connection& connection, const NumberedFilter& filter,
                                       std::map<std::uint32_t, EventRow>& events) const {
    Where where;
    add_delay_conditions(where, filter);
    where.add("x.delayed = 1");
    TRY_ASSIGN(const auto rows, connection.query("SELECT x.event, count(DISTINCT x.bundle),"
                                                 " CAST(sum(CASE WHEN x.run IS NULL THEN 1 ELSE 0 "
                                                 "END) AS BIGINT), max(x.begin_ns) FROM delay x" +
                                                     where.sql() + " GROUP BY x.event",
                                                 where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        EventRow& row = events[rows->small(0)];
        row.bundles = rows->natural(1);
        if (row.runs == 0) row.delays = rows->natural(2);
        row.last_realtime_ns = std::max(row.last_realtime_ns, rows->natural(3));
    }
}

Status EventStore::count_hosts(Connection& connection, const NumberedFilter& filter,
                               std::map<std::uint32_t, EventRow>& events) const {
    Where where;
    where.add("kind = ?", LabelKind::Host);
    where.add("last_ns + 60000000000 >= ?", filter.from_ns);
    where.add("first_ns < ?", filter.to_ns);
    if (filter.event) where.add("event = ?", *filter.event);
    where.add_any_of("label", filter.host);
    if (filter.sight) where.add("event IN (" + id_list(filter.sight->events) + ")");
    if (filter.sight) {
        TRY_ASSIGN(const auto in_part, hosts_seen_in_part(connection, filter));
        for (const auto& [event, hosts] : in_part)
            if (const auto found = events.find(event); found != events.end())
                found->second.hosts = hosts.size();
    }
    TRY_ASSIGN(const auto rows, connection.query("SELECT event, count(*) FROM seen" + where.sql() +
                                                     " GROUP BY event",
                                                 where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        if (const auto found = events.find(rows->small(0)); found != events.end())
            found->second.hosts = rows->natural(1);
    }
}

Result<EventPage> EventStore::list(const Filter& filter, const std::string& search,
                                   std::uint32_t limit, std::optional<PageKey> after) const {
    std::map<std::uint32_t, EventRow> found;
    const std::string wanted = search_text(search);
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            found.clear();
            TRY(count_run_events(connection, numbered, found));
            TRY(count_bundle_events(connection, numbered, found));
            TRY(count_hosts(connection, numbered, found));
            for (auto& [number, row] : found) {
                TRY_ASSIGN(row.event, session_->labels().text_of(connection, number));
            }
            return success();
        });
    if (!looked) return looked.error();
    std::vector<std::pair<PageKey, EventRow>> rows;
    for (auto& [number, row] : found) {
        const PageKey key{row.last_realtime_ns, number};
        const bool behind =
            !after || key.value < after->value || (key.value == after->value && key.id < after->id);
        if (behind && search_text(row.event).find(wanted) != std::string::npos)
            rows.emplace_back(key, std::move(row));
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first.value, a.first.id) > std::pair(b.first.value, b.first.id);
    });
    EventPage page;
    limit = std::clamp<std::uint32_t>(limit, 1, page_limit);
    for (auto& [key, row] : rows) {
        if (page.events.size() == limit) break;
        page.events.push_back(std::move(row));
        if (page.events.size() == limit && rows.size() > limit) page.next = key;
    }
    return page;
}

Result<std::vector<std::string>> EventStore::names() const {
    std::vector<std::string> names;
    const Status looked = session_->read_filtered(
        {}, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            names.clear();
            Where where;
            where.add("l.kind = ?", LabelKind::Event);
            where.add("EXISTS (SELECT 1 FROM seen s WHERE s.event = l.id)");
            if (numbered.sight) {
                TRY_ASSIGN(auto events, events_seen_in_part(connection, *numbered.sight));
                events.insert(events.end(), numbered.sight->events.begin(),
                              numbered.sight->events.end());
                where.add("l.id IN (" + id_list(events) + ")");
            }
            TRY_ASSIGN(const auto rows, connection.query("SELECT l.text FROM label l" +
                                                             where.sql() + " ORDER BY l.text",
                                                         where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                names.push_back(rows->text(0));
            }
        });
    if (!looked) return looked.error();
    return names;
}

Result<Losses> EventStore::losses(const Filter& filter) const {
    Losses losses;
    Filter of_host;
    of_host.host = filter.host;
    of_host.from_ns = filter.from_ns;
    of_host.to_ns = filter.to_ns;
    const Status looked = session_->read_filtered(
        of_host, visibility_,
        [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            losses = {};
            Where where;
            where.add("lost > 0");
            where.add("received_ns >= ?", numbered.from_ns);
            where.add("received_ns < ?", numbered.to_ns);
            where.add_any_of("host", numbered.host);
            if (numbered.sight) {
                TRY_ASSIGN(const auto hosts, hosts_in_sight(connection, numbered));
                where.add("host IN (" + id_list(hosts) + ")");
            }
            TRY_ASSIGN(const auto rows,
                       connection.query(
                           "SELECT host, CAST(sum(lost) AS BIGINT), max(received_ns) FROM batch" +
                               where.sql() + " GROUP BY host ORDER BY 2 DESC, host",
                           where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                losses.runs += rows->natural(1);
                if (losses.hosts.size() >= losing_hosts_limit) continue;
                TRY_ASSIGN(const std::string host,
                           session_->labels().text_of(connection, rows->small(0)));
                losses.hosts.push_back({host, rows->natural(1), rows->natural(2)});
            }
        });
    if (!looked) return looked.error();
    return losses;
}

}  // namespace lagtrap::server
