#include "server/store/choice_store.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>

#include "server/store/rollup.hpp"
#include "server/store/sight_sql.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t choices_limit = 10'000;

struct NumberedChoices {
    std::array<std::set<std::uint32_t>, 5> labels;  // hosts, users, builds, processes, units
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;

    void add_time(std::uint64_t first, std::uint64_t last) {
        first_ns = std::min(first_ns, first);
        last_ns = std::max(last_ns, last);
    }
};

Status choose_from_rows(Connection& connection, const std::string& from, const Where& where,
                        NumberedChoices& choices) {
    TRY_ASSIGN(
        const auto rows,
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

Status choose_from_seen(Connection& connection, const std::vector<std::uint64_t>& events,
                        NumberedChoices& choices) {
    const std::map<LabelKind, std::size_t> columns = {{LabelKind::Host, 0},
                                                      {LabelKind::User, 1},
                                                      {LabelKind::Build, 2},
                                                      {LabelKind::Process, 3},
                                                      {LabelKind::Unit, 4}};
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT kind, label, min(first_ns), max(last_ns) FROM seen"
                                " WHERE event IN (" +
                                id_list(events) + ") GROUP BY kind, label"));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        choices.add_time(rows->natural(2), rows->natural(3));
        if (const auto column = columns.find(static_cast<LabelKind>(rows->integer(0)));
            column != columns.end())
            choices.labels.at(column->second).insert(rows->small(1));
    }
}

}  // namespace

Result<Choices> ChoiceStore::of_event(const std::string& event) const {
    const Sight* sight = visibility_.sight();
    const bool whole =
        sight == nullptr || (!event.empty() && sight->sees_event(stored_text(event)));
    return whole ? read_whole(event) : read_limited(event);
}

Result<Choices> ChoiceStore::read_whole(const std::string& event) const {
    Choices choices;
    Filter filter;
    if (!event.empty()) filter.event = event;
    const Status looked = session_->read_filtered(
        filter, Visibility::everything(),
        [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            choices = {};
            Where where;
            if (numbered.event) where.add("s.event = ?", *numbered.event);
            {
                TRY_ASSIGN(const auto rows,
                           connection.query("SELECT DISTINCT s.kind, l.text FROM seen s JOIN label "
                                            "l ON l.id = s.label" +
                                                where.sql(),
                                            where.values()));
                const std::map<LabelKind, std::vector<std::string>*> lists = {
                    {LabelKind::Host, &choices.hosts},
                    {LabelKind::User, &choices.users},
                    {LabelKind::Build, &choices.builds},
                    {LabelKind::Process, &choices.processes},
                    {LabelKind::Unit, &choices.units}};
                for (;;) {
                    TRY_ASSIGN(const bool more, rows->next());
                    if (!more) break;
                    const auto list = lists.find(static_cast<LabelKind>(rows->integer(0)));
                    if (list == lists.end() || list->second->size() >= choices_limit ||
                        rows->bytes(1).empty())
                        continue;
                    list->second->push_back(rows->text(1));
                }
                for (const auto& list : lists) std::sort(list.second->begin(), list.second->end());
            }
            TRY_ASSIGN(
                const auto rows,
                connection.query("SELECT min(s.first_ns), max(s.last_ns) FROM seen s" + where.sql(),
                                 where.values()));
            TRY_ASSIGN(const bool any, rows->next());
            if (!any || rows->is_null(0)) return success();
            choices.from_realtime_ns = rows->natural(0);
            // `seen` may lag behind the runs (seen_slack_ns); roll-ups do not.
            Where runs;
            runs.add("s.level = ?", RollupLevel::Day);
            if (numbered.event) runs.add("s.event = ?", *numbered.event);
            TRY_ASSIGN(const auto last,
                       connection.query("SELECT max(s.last_ns) FROM rollup s" + runs.sql(),
                                        runs.values()));
            TRY(last->next());
            choices.to_realtime_ns = std::max(rows->natural(1), last->natural(0)) + 1;
            return success();
        });
    if (!looked) return looked.error();
    return choices;
}

Result<Choices> ChoiceStore::read_limited(const std::string& event) const {
    Choices choices;
    Filter filter;
    if (!event.empty()) filter.event = event;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
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
            const std::array lists{&choices.hosts, &choices.users, &choices.builds,
                                   &choices.processes, &choices.units};
            for (std::size_t i = 0; i < lists.size(); ++i) {
                for (const std::uint32_t label : found.labels.at(i)) {
                    TRY_ASSIGN(std::string text, session_->labels().text_of(connection, label));
                    if (!text.empty() && lists.at(i)->size() < choices_limit)
                        lists.at(i)->push_back(std::move(text));
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

}  // namespace lagtrap::server
