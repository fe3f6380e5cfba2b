#include "server/store/activity_store.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "server/store/counting.hpp"
#include "server/store/rollup.hpp"
#include "server/store/sight_sql.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

using Units = std::map<std::uint64_t, UnitActivity>;

constexpr std::uint64_t never_ns = UINT64_MAX;

std::uint64_t length_of(ActivityUnit unit) { return unit == ActivityUnit::Hour ? hour_ns : day_ns; }

void count_build(UnitActivity& unit, const std::string& build, std::uint64_t runs,
                 std::uint64_t delays) {
    const auto found =
        std::find_if(unit.builds.begin(), unit.builds.end(),
                     [&](const BuildActivity& known) { return known.build == build; });
    BuildActivity& counted = found == unit.builds.end() ? unit.builds.emplace_back() : *found;
    counted.build = build;
    counted.runs += runs;
    counted.delays += delays;
}

UnitActivity& unit_at(Units& units, std::uint64_t begin_ns, std::uint64_t length_ns) {
    UnitActivity& unit = units[begin_ns / length_ns];
    unit.from_ns = begin_ns / length_ns * length_ns;
    return unit;
}

std::vector<UnitActivity> in_order(Units& units) {
    std::vector<UnitActivity> list;
    for (auto& [number, unit] : units) list.push_back(std::move(unit));
    return list;
}

}  // namespace

Result<std::vector<std::string>> ActivityStore::event_names(const Filter& filter,
                                                            const std::string& search) const {
    std::vector<std::string> names;
    if (filter.event) return std::vector<std::string>{*filter.event};
    const std::string wanted = search_text(search);
    const Status looked = session_->read([&](Connection& connection) -> Status {
        names.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT text FROM label WHERE kind = $1 ORDER BY text",
                                    {LabelKind::Event}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            if (std::string name = rows->text(0);
                search_text(name).find(wanted) != std::string::npos)
                names.push_back(std::move(name));
        }
    });
    if (!looked) return looked.error();
    return names;
}

Status ActivityStore::count_hosts_of_event(Connection& connection, const NumberedFilter& numbered,
                                           std::uint64_t from_ns, EventActivity& activity) {
    if (numbered.host.size() == 1) {
        activity.hosts = activity.last_ns >= from_ns ? 1 : 0;
        return success();
    }
    if (numbered.sight) {
        NumberedFilter since = numbered;
        since.from_given = true;
        since.from_ns = from_ns;
        TRY_ASSIGN(const auto hosts, hosts_seen_in_part(connection, since));
        const auto found = hosts.find(*numbered.event);
        activity.hosts = found == hosts.end() ? 0 : found->second.size();
        return success();
    }
    Where where;
    where.add("event = ?", *numbered.event);
    where.add("kind = ?", LabelKind::Host);
    where.add("last_ns + 60000000000 >= ?", from_ns);
    where.add("first_ns < ?", numbered.to_ns);
    where.add_any_of("label", numbered.host);
    TRY_ASSIGN(const auto hosts,
               connection.query("SELECT count(*) FROM seen" + where.sql(), where.values()));
    TRY(hosts->next());
    activity.hosts = hosts->natural(0);
    return success();
}

// Adds delays in bundles: for the hosts that had them and, if runs are not recorded, for
// everything.
Status ActivityStore::add_bundle_activity(Connection& connection, const NumberedFilter& numbered,
                                          const ActivityQuestion& question,
                                          EventActivity& activity) const {
    NumberedFilter wanted = numbered;
    if (activity.runs_recorded) {
        wanted.from_given = true;
        wanted.from_ns = question.hosts_from_ns;
    } else if (question.hourly_from_ns > 0) {
        wanted.from_ns = std::min(wanted.from_ns, question.hourly_from_ns);
    }
    Where where;
    add_delay_conditions(where, wanted);
    where.add("x.delayed = 1");
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT x.begin_ns, x.duration_ns, x.host, x.build FROM delay x" +
                                    where.sql() + " ORDER BY x.begin_ns DESC LIMIT " +
                                    std::to_string(activity_delays_limit + 1),
                                where.values()));
    std::set<std::uint32_t> hosts;
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> delays;
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) break;
        if (delays.size() == activity_delays_limit) {
            activity.delays_cut = true;
            break;
        }
        delays.emplace_back(rows->natural(0), rows->natural(1), rows->small(3));
        activity.last_ns = std::max(activity.last_ns, rows->natural(0));
        if (rows->natural(0) >= question.hosts_from_ns) hosts.insert(rows->small(2));
    }
    activity.delayed_hosts = hosts.size();
    if (activity.runs_recorded) return success();
    activity.hosts = hosts.size();
    Units units, hours;
    for (const auto& [begin_ns, duration_ns, build] : delays) {
        TRY_ASSIGN(const std::string name, session_->labels().text_of(connection, build));
        const auto add = [&, at_ns = begin_ns, length_ns = duration_ns](Units& into,
                                                                        ActivityUnit unit_kind) {
            UnitActivity& unit = unit_at(into, at_ns, length_of(unit_kind));
            ++unit.runs;
            ++unit.delays;
            unit.durations.add(length_ns);
            count_build(unit, name, 1, 1);
        };
        if (begin_ns >= *question.filter.from_ns) add(units, question.unit);
        if (question.hourly_from_ns > 0 && begin_ns >= question.hourly_from_ns)
            add(hours, ActivityUnit::Hour);
    }
    activity.units = in_order(units);
    activity.hours = in_order(hours);
    return success();
}

// Adds to units from `units_from_ns` on, and to hours from `hours_from_ns` on.
Status ActivityStore::add_run_units(Connection& connection, const NumberedFilter& numbered,
                                    ActivityUnit unit, const UnitBegins& begins,
                                    EventActivity& activity) const {
    Units units, hours;
    const Grain grain =
        unit == ActivityUnit::Hour || begins.units_ns == never_ns ? Grain::Hour : Grain::Day;
    const Status counted =
        each_piece(connection, session_->dialect(), numbered, Detail::Sketches, grain,
                   [&](const Piece& piece) -> Status {
                       activity.runs_recorded = true;
                       if (!numbered.shows(piece.mark)) return success();
                       activity.last_ns = std::max(activity.last_ns, piece.last_ns);
                       TRY_ASSIGN(const std::string build,
                                  session_->labels().text_of(connection, piece.build));
                       const std::uint64_t at_ns = piece.hour * hour_ns;
                       const auto add = [&](Units& into, ActivityUnit kind) {
                           UnitActivity& added = unit_at(into, at_ns, length_of(kind));
                           added.runs += piece.runs;
                           added.delays += piece.delays;
                           count_build(added, build, piece.runs, piece.delays);
                           return add_piece(piece, added.durations, nullptr);
                       };
                       if (at_ns >= begins.hours_ns) TRY(add(hours, ActivityUnit::Hour));
                       if (at_ns >= begins.units_ns) TRY(add(units, unit));
                       return success();
                   });
    if (!counted) return counted.error();
    if (!units.empty()) activity.units = in_order(units);
    if (!hours.empty()) activity.hours = in_order(hours);
    return success();
}

Status ActivityStore::add_run_activity(Connection& connection, const NumberedFilter& numbered,
                                       const ActivityQuestion& question,
                                       EventActivity& activity) const {
    const std::uint64_t from_ns = *question.filter.from_ns;
    const std::uint64_t hours_ns =
        question.hourly_from_ns == 0 ? never_ns : question.hourly_from_ns;
    NumberedFilter wanted = numbered;
    if (!numbered.fits_rollups())
        return add_run_units(connection, wanted, question.unit, {from_ns, hours_ns}, activity);
    if (question.unit == ActivityUnit::Hour) {
        wanted.from_ns = std::min(wanted.from_ns, hours_ns);
        TRY(add_run_units(connection, wanted, question.unit, {from_ns, hours_ns}, activity));
    } else {
        TRY(add_run_units(connection, wanted, question.unit, {from_ns, never_ns}, activity));
        wanted.from_ns = hours_ns;
        if (hours_ns != never_ns)
            TRY(add_run_units(connection, wanted, question.unit, {never_ns, hours_ns}, activity));
    }
    return hours_ns == never_ns ? success()
                                : add_first_runs(connection, numbered, hours_ns, activity);
}

Status ActivityStore::add_first_runs(Connection& connection, const NumberedFilter& numbered,
                                     std::uint64_t from_ns, EventActivity& activity) const {
    if (numbered.sight) return success();  // the other units' runs are not theirs to know
    Where where;
    where.add("event = ?", *numbered.event);
    where.add("kind = ?", LabelKind::Build);
    where.add("first_ns >= ?", from_ns);
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT label, first_ns FROM seen" + where.sql(), where.values()));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        TRY_ASSIGN(std::string build, session_->labels().text_of(connection, rows->small(0)));
        activity.begins.push_back({std::move(build), rows->natural(1)});
    }
}

Status ActivityStore::visit(const ActivityQuestion& question,
                            const std::function<Status(EventActivity&&)>& take) const {
    if (!question.filter.from_ns || !question.filter.to_ns)
        return make_error(ErrorKind::Invalid, "this question needs a span of time");
    TRY_ASSIGN(const auto names, event_names(question.filter, question.search));
    Filter filter = question.filter;
    // One read per event: a long read would keep the engine from reusing its log, and this way only
    // one event's rows are in memory.
    for (const std::string& name : names) {
        filter.event = name;
        EventActivity activity;
        const Status looked = session_->read_filtered(
            filter, visibility_,
            [&](Connection& connection, const NumberedFilter& numbered) -> Status {
                activity = {};
                TRY(add_run_activity(connection, numbered, question, activity));
                if (activity.runs_recorded)
                    TRY(count_hosts_of_event(connection, numbered, question.hosts_from_ns,
                                             activity));
                return add_bundle_activity(connection, numbered, question, activity);
            });
        if (!looked) return looked.error();
        if (activity.units.empty()) continue;
        activity.event = name;
        TRY(take(std::move(activity)));
    }
    return success();
}

}  // namespace lagtrap::server
