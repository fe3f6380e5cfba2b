#include <algorithm>
#include <cctype>
#include <map>

#include "server/store/rollup.hpp"
#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t losing_hosts_limit = 20;

}  // namespace

Status SqlStore::count_run_events(Connection& connection, const NumberedFilter& filter,
                                  std::map<std::uint32_t, EventRow>& events) {
    const auto count = [&](const NumberedFilter& part) {
        return each_piece(connection, database_->dialect(), part, Detail::Counts, Grain::Day,
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

Status SqlStore::count_bundle_events(Connection& connection, const NumberedFilter& filter,
                                     std::map<std::uint32_t, EventRow>& events) {
    Where where;
    add_delay_conditions(where, filter);
    where.add("x.delayed = 1");
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT x.event, count(DISTINCT x.bundle),"
                                " CAST(sum(CASE WHEN x.run IS NULL THEN 1 ELSE 0 END) AS BIGINT), max(x.begin_ns)"
                                " FROM delay x" +
                                    where.sql() + " GROUP BY x.event",
                                where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        EventRow& row = events[rows->small(0)];
        row.bundles = rows->natural(1);
        row.delays += rows->natural(2);
        row.last_realtime_ns = std::max(row.last_realtime_ns, rows->natural(3));
    }
}

Status SqlStore::count_hosts(Connection& connection, const NumberedFilter& filter,
                             std::map<std::uint32_t, EventRow>& events) {
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
            if (const auto found = events.find(event); found != events.end()) found->second.hosts = hosts.size();
    }
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT event, count(*) FROM seen" + where.sql() + " GROUP BY event", where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        if (const auto found = events.find(rows->small(0)); found != events.end())
            found->second.hosts = rows->natural(1);
    }
}

Result<EventPage> SqlStore::events(const Filter& filter, const std::string& search, std::uint32_t limit,
                                   std::optional<PageKey> after) {
    std::map<std::uint32_t, EventRow> found;
    const std::string wanted = search_text(search);
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        found.clear();
        TRY(count_run_events(connection, numbered, found));
        TRY(count_bundle_events(connection, numbered, found));
        TRY(count_hosts(connection, numbered, found));
        for (auto& [number, row] : found) {
            TRY_ASSIGN(row.event, labels_.text_of(connection, number));
        }
        return success();
    });
    if (!looked) return looked.error();
    std::vector<std::pair<PageKey, EventRow>> rows;
    for (auto& [number, row] : found) {
        const PageKey key{row.last_realtime_ns, number};
        const bool behind = !after || key.value < after->value || (key.value == after->value && key.id < after->id);
        if (behind && search_text(row.event).find(wanted) != std::string::npos) rows.emplace_back(key, std::move(row));
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

Result<Losses> SqlStore::losses(const Filter& filter) {
    Losses losses;
    Filter of_host;
    of_host.host = filter.host;
    of_host.from_ns = filter.from_ns;
    of_host.to_ns = filter.to_ns;
    of_host.sight = filter.sight;
    const Status looked = read_filtered(of_host, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
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
                   connection.query("SELECT host, CAST(sum(lost) AS BIGINT), max(received_ns) FROM batch" +
                                        where.sql() + " GROUP BY host ORDER BY 2 DESC, host",
                                    where.values()));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            losses.runs += rows->natural(1);
            if (losses.hosts.size() >= losing_hosts_limit) continue;
            TRY_ASSIGN(const std::string host, labels_.text_of(connection, rows->small(0)));
            losses.hosts.push_back({host, rows->natural(1), rows->natural(2)});
        }
    });
    if (!looked) return looked.error();
    return losses;
}

Result<Choices> SqlStore::choices(const std::string& event) {
    Choices choices;
    Filter filter;
    if (!event.empty()) filter.event = event;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        choices = {};
        Where where;
        if (numbered.event) where.add("s.event = ?", *numbered.event);
        {
            TRY_ASSIGN(const auto rows, connection.query("SELECT DISTINCT s.kind, l.text FROM seen s"
                                                         " JOIN label l ON l.id = s.label" +
                                                             where.sql(),
                                                         where.values()));
            const std::map<LabelKind, std::vector<std::string>*> lists = {{LabelKind::Host, &choices.hosts},
                                                                          {LabelKind::User, &choices.users},
                                                                          {LabelKind::Build, &choices.builds},
                                                                          {LabelKind::Process, &choices.processes},
                                                                          {LabelKind::Unit, &choices.units}};
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                const auto list = lists.find(static_cast<LabelKind>(rows->integer(0)));
                if (list == lists.end() || list->second->size() >= choices_limit || rows->bytes(1).empty()) continue;
                list->second->push_back(rows->text(1));
            }
            for (const auto& list : lists) std::sort(list.second->begin(), list.second->end());
        }
        TRY_ASSIGN(const auto rows, connection.query("SELECT min(s.first_ns), max(s.last_ns) FROM seen s" + where.sql(),
                                                     where.values()));
        TRY_ASSIGN(const bool any, rows->next());
        if (!any || rows->is_null(0)) return success();
        choices.from_realtime_ns = rows->natural(0);
        // `seen` may lag behind the runs (seen_slack_ns); roll-ups do not.
        Where runs;
        runs.add("s.level = ?", RollupLevel::Day);
        if (numbered.event) runs.add("s.event = ?", *numbered.event);
        TRY_ASSIGN(const auto last,
                   connection.query("SELECT max(s.last_ns) FROM rollup s" + runs.sql(), runs.values()));
        TRY(last->next());
        choices.to_realtime_ns = std::max(rows->natural(1), last->natural(0)) + 1;
        return success();
    });
    if (!looked) return looked.error();
    return choices;
}

}  // namespace lagtrap::server
