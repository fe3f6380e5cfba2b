// Queries limited to what a person may see.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

Result<std::vector<std::uint64_t>> numbers_of(Connection& connection, const std::string& sql) {
    std::vector<std::uint64_t> numbers;
    TRY_ASSIGN(const auto rows, connection.query(sql));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return numbers;
        numbers.push_back(rows->natural(0));
    }
}

// The filter for events that are visible only in part: limited to the visible units.
NumberedFilter of_units(const NumberedFilter& filter) {
    NumberedFilter limited = filter;
    limited.sight->events.clear();
    return limited;
}

struct NumberedChoices {
    std::array<std::set<std::uint32_t>, 5> labels;  // hosts, users, builds, processes, units
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;

    void add_time(std::uint64_t first, std::uint64_t last) {
        first_ns = std::min(first_ns, first);
        last_ns = std::max(last_ns, last);
    }
};

Status choose_from_rows(Connection& connection, const std::string& from, const Where& where, NumberedChoices& choices) {
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT t.host, t.account, t.build, t.process, t.unit, min(t.begin_ns),"
                                " max(t.begin_ns) FROM (SELECT * FROM " +
                                    from + where.sql() + ") t GROUP BY 1, 2, 3, 4, 5",
                                where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        for (std::size_t column = 0; column < choices.labels.size(); ++column)
            choices.labels.at(column).insert(rows->small(static_cast<int>(column)));
        choices.add_time(rows->natural(5), rows->natural(6));
    }
}

Status choose_from_seen(Connection& connection, const std::vector<std::uint64_t>& events, NumberedChoices& choices) {
    const std::map<LabelKind, std::size_t> columns = {{LabelKind::Host, 0},
                                                      {LabelKind::User, 1},
                                                      {LabelKind::Build, 2},
                                                      {LabelKind::Process, 3},
                                                      {LabelKind::Unit, 4}};
    TRY_ASSIGN(const auto rows, connection.query("SELECT kind, label, min(first_ns), max(last_ns) FROM seen"
                                                 " WHERE event IN (" +
                                                 id_list(events) + ") GROUP BY kind, label"));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        choices.add_time(rows->natural(2), rows->natural(3));
        if (const auto column = columns.find(static_cast<LabelKind>(rows->integer(0))); column != columns.end())
            choices.labels.at(column->second).insert(rows->small(1));
    }
}

// Limits `where` to these events in `table`.
void limit_to_events(Where& where, const std::string& table, const std::vector<std::uint64_t>& events) {
    where.add(table + ".event IN (" + id_list(events) + ")");
}

}  // namespace

Result<std::vector<std::uint64_t>> events_seen_in_part(Connection& connection, const NumberedSight& sight) {
    if (sight.units.empty()) return std::vector<std::uint64_t>();
    return numbers_of(connection, "SELECT DISTINCT event FROM seen WHERE kind = " +
                                      std::to_string(static_cast<int>(LabelKind::Unit)) + " AND label IN (" +
                                      id_list(sight.units) + ") AND event NOT IN (" +
                                      // id_list() of an empty list is NULL, and NOT IN (NULL) is
                                      // never true
                                      (sight.events.empty() ? "-1" : id_list(sight.events)) + ")");
}

Result<std::map<std::uint32_t, std::set<std::uint32_t>>> hosts_seen_in_part(Connection& connection,
                                                                            const NumberedFilter& filter) {
    std::map<std::uint32_t, std::set<std::uint32_t>> hosts;
    if (filter.sight->units.empty()) return hosts;
    TRY_ASSIGN(const auto events, events_seen_in_part(connection, *filter.sight));
    const NumberedFilter limited = of_units(filter);
    Where runs, delays;
    add_run_conditions(runs, limited);
    limit_to_events(runs, "r", events);
    add_delay_conditions(delays, limited);
    delays.add("x.delayed = 1");
    for (const auto& [from, where] :
         {std::pair("r.event, r.host FROM run r", &runs), std::pair("x.event, x.host FROM delay x", &delays)}) {
        TRY_ASSIGN(const auto rows,
                   connection.query(std::string("SELECT DISTINCT ") + from + where->sql(), where->values()));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            hosts[rows->small(0)].insert(rows->small(1));
        }
    }
    return hosts;
}

Result<std::vector<std::uint64_t>> hosts_in_sight(Connection& connection, const NumberedFilter& filter) {
    TRY_ASSIGN(auto hosts, numbers_of(connection, "SELECT DISTINCT label FROM seen WHERE kind = " +
                                                      std::to_string(static_cast<int>(LabelKind::Host)) +
                                                      " AND event IN (" + id_list(filter.sight->events) + ")"));
    TRY_ASSIGN(const auto in_part, hosts_seen_in_part(connection, filter));
    for (const auto& [event, more] : in_part) hosts.insert(hosts.end(), more.begin(), more.end());
    return hosts;
}

Result<Choices> SqlStore::choices_in(const Sight& sight, const std::string& event) {
    if (!event.empty() && sight.sees_event(stored_text(event))) return choices(event);
    Choices choices;
    Filter filter;
    if (!event.empty()) filter.event = event;
    filter.sight = std::make_shared<Sight>(sight);
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        choices = {};
        NumberedChoices found;
        if (!numbered.event) TRY(choose_from_seen(connection, numbered.sight->events, found));
        if (!numbered.sight->units.empty()) {
            TRY_ASSIGN(const auto events, events_seen_in_part(connection, *numbered.sight));
            const NumberedFilter limited = of_units(numbered);
            Where runs, delays;
            add_run_conditions(runs, limited);
            limit_to_events(runs, "r", events);
            add_delay_conditions(delays, limited);
            TRY(choose_from_rows(connection, "run r", runs, found));
            TRY(choose_from_rows(connection, "delay x", delays, found));
        }
        const std::array lists{&choices.hosts, &choices.users, &choices.builds, &choices.processes, &choices.units};
        for (std::size_t i = 0; i < lists.size(); ++i) {
            for (const std::uint32_t label : found.labels.at(i)) {
                TRY_ASSIGN(std::string text, labels_.text_of(connection, label));
                if (!text.empty() && lists.at(i)->size() < choices_limit) lists.at(i)->push_back(std::move(text));
            }
            std::sort(lists.at(i)->begin(), lists.at(i)->end());
        }
        if (found.first_ns > found.last_ns) return success();
        choices.from_realtime_ns = found.first_ns;
        choices.to_realtime_ns = found.last_ns + 1;
        return success();
    });
    if (!looked) return looked.error();
    return choices;
}

Result<std::vector<CauseRecord>> SqlStore::causes_in(const Sight& sight, const std::optional<std::string>& event,
                                                     std::uint32_t limit) {
    std::vector<CauseRecord> found;
    Filter filter;
    filter.event = event;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        Where where;
        if (numbered.event) where.add("c.event = ?", *numbered.event);
        TRY_ASSIGN(const NumberedSight seen, number_sight(connection, sight));
        TRY_ASSIGN(found, select_causes(connection, where, limit, &seen));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::optional<CauseLife>> SqlStore::find_cause_in(const Sight& sight, std::uint64_t id) {
    std::optional<CauseLife> found;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const NumberedSight seen, number_sight(connection, sight));
        TRY_ASSIGN(found, read_life(connection, id, &seen));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Status SqlStore::limit_to_sight(const Sight& sight, std::vector<BundleRow>& rows) {
    if (rows.empty()) return success();
    struct Seen {
        std::uint32_t delays = 0, event = 0, process = 0;
        std::uint64_t longest_ns = 0;
    };
    std::vector<std::uint64_t> numbers;
    for (const BundleRow& row : rows) numbers.push_back(static_cast<std::uint64_t>(row.number));
    return database_->read([&](Connection& connection) -> Status {
        std::vector<BundleRow> kept;
        std::map<std::uint64_t, Seen> seen;
        TRY_ASSIGN(const NumberedSight numbered, number_sight(connection, sight));
        {
            TRY_ASSIGN(const auto delays,
                       connection.query("SELECT x.bundle, x.event, x.process, x.duration_ns FROM delay x"
                                        " WHERE x.delayed = 1 AND x.bundle IN (" +
                                        id_list(numbers) + ") AND " + numbered.condition("x")));
            for (;;) {
                TRY_ASSIGN(const bool more, delays->next());
                if (!more) break;
                Seen& bundle = seen[delays->natural(0)];
                if (++bundle.delays > 1 && delays->natural(3) <= bundle.longest_ns) continue;
                bundle.event = delays->small(1);
                bundle.process = delays->small(2);
                bundle.longest_ns = delays->natural(3);
            }
        }
        for (const BundleRow& row : rows) {
            const auto found = seen.find(static_cast<std::uint64_t>(row.number));
            if (found == seen.end()) continue;
            BundleRow& limited = kept.emplace_back(row);
            limited.facts.delays = found->second.delays;
            limited.facts.longest_delay_ns = found->second.longest_ns;
            TRY_ASSIGN(limited.facts.event, labels_.text_of(connection, found->second.event));
            TRY_ASSIGN(limited.facts.process, labels_.text_of(connection, found->second.process));
        }
        rows = std::move(kept);
        return success();
    });
}

}  // namespace lagtrap::server
