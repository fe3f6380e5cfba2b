#include "server/store/sight_sql.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "server/store/sql_session.hpp"

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

}  // namespace

NumberedFilter of_units(const NumberedFilter& filter) {
    NumberedFilter limited = filter;
    limited.sight->events.clear();
    return limited;
}

void limit_to_events(Where& where, const std::string& table,
                     const std::vector<std::uint64_t>& events) {
    where.add(table + ".event IN (" + id_list(events) + ")");
}

Result<std::vector<std::uint64_t>> events_seen_in_part(Connection& connection,
                                                       const NumberedSight& sight) {
    if (sight.units.empty()) return std::vector<std::uint64_t>();
    return numbers_of(connection, "SELECT DISTINCT event FROM seen WHERE kind = " +
                                      std::to_string(static_cast<int>(LabelKind::Unit)) +
                                      " AND label IN (" + id_list(sight.units) +
                                      ") AND event NOT IN (" +
                                      // id_list() of an empty list is NULL, and NOT IN (NULL) is
                                      // never true
                                      (sight.events.empty() ? "-1" : id_list(sight.events)) + ")");
}

Result<std::map<std::uint32_t, std::set<std::uint32_t>>> hosts_seen_in_part(
    Connection& connection, const NumberedFilter& filter) {
    std::map<std::uint32_t, std::set<std::uint32_t>> hosts;
    if (filter.sight->units.empty()) return hosts;
    TRY_ASSIGN(const auto events, events_seen_in_part(connection, *filter.sight));
    const NumberedFilter limited = of_units(filter);
    Where runs, delays;
    add_run_conditions(runs, limited);
    limit_to_events(runs, "r", events);
    add_delay_conditions(delays, limited);
    delays.add("x.delayed = 1");
    for (const auto& [from, where] : {std::pair("r.event, r.host FROM run r", &runs),
                                      std::pair("x.event, x.host FROM delay x", &delays)}) {
        TRY_ASSIGN(const auto rows,
                   connection.query(std::string("SELECT DISTINCT ") + from + where->sql(),
                                    where->values()));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            hosts[rows->small(0)].insert(rows->small(1));
        }
    }
    return hosts;
}

Result<std::vector<std::uint64_t>> hosts_in_sight(Connection& connection,
                                                  const NumberedFilter& filter) {
    TRY_ASSIGN(auto hosts,
               numbers_of(connection, "SELECT DISTINCT label FROM seen WHERE kind = " +
                                          std::to_string(static_cast<int>(LabelKind::Host)) +
                                          " AND event IN (" + id_list(filter.sight->events) + ")"));
    TRY_ASSIGN(const auto in_part, hosts_seen_in_part(connection, filter));
    for (const auto& [event, more] : in_part) hosts.insert(hosts.end(), more.begin(), more.end());
    return hosts;
}

}  // namespace lagtrap::server
