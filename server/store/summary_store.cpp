#include "server/store/summary_store.hpp"

#include <algorithm>
#include <map>

#include "server/store/counting.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

Status needs_event(const Filter& filter) {
    return filter.event ? success()
                        : make_error(ErrorKind::Invalid, "this question needs an event");
}

void count_piece(const Piece& piece, const NumberedFilter& filter, RunCounts& counts) {
    if (piece.mark == RunMark::Dirty) counts.hidden += piece.records;
    if (piece.mark == RunMark::Outlier) counts.outliers += piece.records;
    if (!filter.shows(piece.mark)) return;
    counts.records += piece.records;
    counts.runs += piece.runs;
    counts.delays += piece.delays;
}

}  // namespace

Result<Summary> SummaryStore::summary(const Filter& filter) const {
    TRY(needs_event(filter));
    Summary summary;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            summary = {};
            std::map<std::uint64_t, HourCount> hours;
            const auto count_hour = [&](const Piece& piece) {
                if (!numbered.shows(piece.mark)) return;
                HourCount& hour = hours[piece.hour];
                hour.runs += piece.runs;
                hour.delays += piece.delays;
            };
            bool rolled_up = false;
            const Status counted =
                each_piece(connection, session_->dialect(), numbered, Detail::Sketches, Grain::Day,
                           [&](const Piece& piece) -> Status {
                               count_piece(piece, numbered, summary.counts);
                               rolled_up = rolled_up || piece.rolled_up;
                               if (!piece.rolled_up) count_hour(piece);
                               if (!numbered.shows(piece.mark)) return success();
                               summary.longest_ns = std::max(summary.longest_ns, piece.longest_ns);
                               return add_piece(piece, summary.durations, &summary.delay_durations);
                           });
            if (!counted) return counted.error();
            if (rolled_up) {
                const Status counted_2 =
                    each_piece(connection, session_->dialect(), numbered, Detail::Counts,
                               Grain::Hour, [&](const Piece& piece) -> Status {
                                   if (piece.rolled_up) count_hour(piece);
                                   return success();
                               });
                if (!counted_2) return counted_2.error();
            }
            for (auto& [hour, count] : hours) {
                count.hour_ns = hour * hour_ns;
                summary.hours.push_back(count);
            }
            return success();
        });
    if (!looked) return looked.error();
    return summary;
}

Result<RunCounts> SummaryStore::count_runs(const Filter& filter) const {
    TRY(needs_event(filter));
    RunCounts counts;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            counts = {};
            return each_piece(connection, session_->dialect(), numbered, Detail::Counts, Grain::Day,
                              [&](const Piece& piece) -> Status {
                                  count_piece(piece, numbered, counts);
                                  return success();
                              });
        });
    if (!looked) return looked.error();
    return counts;
}

Result<std::vector<TrendPoint>> SummaryStore::trend(const Filter& filter) const {
    TRY(needs_event(filter));
    std::vector<TrendPoint> points;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            points.clear();
            std::map<std::pair<std::uint64_t, std::uint32_t>, TrendPoint> days;
            const Status counted =
                each_piece(connection, session_->dialect(), numbered, Detail::Sketches, Grain::Day,
                           [&](const Piece& piece) -> Status {
                               if (!numbered.shows(piece.mark)) return success();
                               const std::uint64_t from_ns = piece.hour * hour_ns / day_ns * day_ns;
                               TrendPoint& point = days[{from_ns, piece.build}];
                               point.from_ns = from_ns;
                               point.runs += piece.runs;
                               point.delays += piece.delays;
                               return add_piece(piece, point.durations, nullptr);
                           });
            if (!counted) return counted.error();
            for (auto& [key, point] : days) {
                TRY_ASSIGN(point.build, session_->labels().text_of(connection, key.second));
                points.push_back(std::move(point));
            }
            return success();
        });
    if (!looked) return looked.error();
    return points;
}

}  // namespace lagtrap::server
