#include "server/store/split_store.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

std::string column_of(SplitBy by) {
    switch (by) {
        case SplitBy::Host: return "r.host";
        case SplitBy::Build: return "r.build";
        case SplitBy::Unit: break;
    }
    return "r.unit";
}

void add_runs(SplitPoint& point, std::uint16_t bin, std::uint64_t weight, bool delay) {
    point.runs += weight;
    if (delay) point.delays += weight;
    point.durations.add_bin(bin, weight);
}

}  // namespace

void SplitPoint::add(const SplitPoint& other) {
    runs += other.runs;
    delays += other.delays;
    durations.merge(other.durations);
}

void SplitPart::add(const SplitPart& other) {
    whole.add(other.whole);
    for (const auto& [from_ns, point] : other.points) points[from_ns].add(point);
}

Result<RunGroups> SplitStore::run_groups(const Filter& filter, bool of_delays,
                                         std::uint32_t run_limit) const {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    RunGroups answer;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            answer = {};
            Where where;
            std::string columns =
                "SELECT r.begin_ns, r.host, r.build, r.unit, r.bin, r.weight, r.delay FROM run r";
            if (of_delays) {
                add_delay_conditions(where, numbered);
                where.add("x.delayed = 1");
                columns =
                    "SELECT x.begin_ns, x.host, x.build, x.unit, x.duration_ns, 1, 1 FROM delay x";
            } else {
                add_run_conditions(where, numbered);
                add_mark_conditions(where, numbered);
            }
            const std::string order =
                of_delays ? "x.begin_ns DESC, x.id DESC" : "r.begin_ns DESC, r.id DESC";
            TRY_ASSIGN(const auto rows,
                       connection.query(columns + where.sql() + " ORDER BY " + order + " LIMIT " +
                                            std::to_string(run_limit),
                                        where.values()));
            std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, SplitPoint> groups;
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                ++answer.runs_read;
                answer.from_ns = rows->natural(0);
                const std::uint16_t bin = of_delays ? Sketch::bin_of(rows->natural(4))
                                                    : static_cast<std::uint16_t>(rows->integer(4));
                add_runs(groups[{rows->small(1), rows->small(2), rows->small(3)}], bin,
                         rows->natural(5), rows->integer(6) != 0);
            }
            for (auto& [labels, runs] : groups) {
                RunGroup& group = answer.groups.emplace_back();
                TRY_ASSIGN(group.host, session_->labels().text_of(connection, std::get<0>(labels)));
                TRY_ASSIGN(group.build,
                           session_->labels().text_of(connection, std::get<1>(labels)));
                TRY_ASSIGN(group.unit, session_->labels().text_of(connection, std::get<2>(labels)));
                group.runs = std::move(runs);
            }
            return success();
        });
    if (!looked) return looked.error();
    return answer;
}

Result<SplitRuns> SplitStore::split(const Filter& filter, SplitBy by, ActivityUnit unit,
                                    std::uint32_t run_limit) const {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    const std::uint64_t unit_ns = unit == ActivityUnit::Hour ? hour_ns : day_ns;
    SplitRuns answer;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            answer = {};
            Where where;
            add_run_conditions(where, numbered);
            add_mark_conditions(where, numbered);
            TRY_ASSIGN(const auto rows,
                       connection.query("SELECT r.begin_ns, " + column_of(by) +
                                            ", r.bin, r.weight, r.delay FROM run r" + where.sql() +
                                            " ORDER BY r.begin_ns DESC, r.id DESC LIMIT " +
                                            std::to_string(run_limit),
                                        where.values()));
            std::unordered_map<std::uint32_t, SplitPart> parts;
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                ++answer.runs_read;
                answer.from_ns = rows->natural(0);
                SplitPart& part = parts[rows->small(1)];
                const auto bin = static_cast<std::uint16_t>(rows->integer(2));
                const std::uint64_t weight = rows->natural(3);
                const bool delay = rows->integer(4) != 0;
                add_runs(part.whole, bin, weight, delay);
                add_runs(part.points[answer.from_ns / unit_ns * unit_ns], bin, weight, delay);
            }
            // An unknown unit has no label in old rows, and an empty one in newer rows.
            std::map<std::string, SplitPart> named;
            for (auto& [label, part] : parts) {
                TRY_ASSIGN(const std::string name, session_->labels().text_of(connection, label));
                named[name].add(part);
            }
            for (auto& [name, part] : named) {
                part.name = name;
                answer.parts.push_back(std::move(part));
            }
            return success();
        });
    if (!looked) return looked.error();
    std::sort(answer.parts.begin(), answer.parts.end(),
              [](const SplitPart& one, const SplitPart& other) {
                  return std::tuple(other.whole.delays, other.whole.runs, one.name) <
                         std::tuple(one.whole.delays, one.whole.runs, other.name);
              });
    return answer;
}

}  // namespace lagtrap::server
