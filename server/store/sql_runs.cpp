#include <algorithm>
#include <map>

#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

Status needs_event(const Filter& filter) {
    return filter.event ? success() : make_error(ErrorKind::Invalid, "this question needs an event");
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

Result<AddOutcome> SqlStore::add_batch(const Receipt& receipt, const trace::RunBatch& batch) {
    TRY_ASSIGN(const AddOutcome outcome, batches_.add(receipt, batch));
    if (outcome == AddOutcome::Already) return outcome;
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (const trace::RecordedRun& run : batch.runs) {
        if (!run.delay) continue;
        first_ns = std::min(first_ns, run.begin_realtime_ns);
        last_ns = std::max(last_ns, run.begin_realtime_ns);
    }
    if (first_ns > last_ns) return outcome;
    std::map<LabelName, std::uint32_t> host{{{LabelKind::Host, stored_text(batch.host)}, 0}};
    // The batch is stored already; if linking fails, maintain() does it later.
    const std::uint64_t day = receipt.received_realtime_ns / day_ns;
    if (labels_.resolve(host, receipt.sender, day))
        static_cast<void>(link_delays(host.begin()->second, first_ns, last_ns));
    return outcome;
}

Result<bool> SqlStore::has_batch(const std::string& digest) {
    bool found = false;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto there, connection.number("SELECT 1 FROM batch WHERE digest = $1", {digest}));
        found = there.has_value();
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Status SqlStore::read_filtered(const Filter& filter,
                               const std::function<Status(Connection&, const NumberedFilter&)>& task) {
    return database_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto numbered, number_filter(connection, labels_, filter));
        return numbered ? task(connection, *numbered) : success();
    });
}

Result<Summary> SqlStore::summary(const Filter& filter) {
    TRY(needs_event(filter));
    Summary summary;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        summary = {};
        std::map<std::uint64_t, HourCount> hours;
        const auto count_hour = [&](const Piece& piece) {
            if (!numbered.shows(piece.mark)) return;
            HourCount& hour = hours[piece.hour];
            hour.runs += piece.runs;
            hour.delays += piece.delays;
        };
        bool rolled_up = false;
        const Status counted = each_piece(connection, database_->dialect(), numbered, Detail::Sketches, Grain::Day,
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
            const Status counted_2 = each_piece(connection, database_->dialect(), numbered, Detail::Counts, Grain::Hour,
                                                [&](const Piece& piece) -> Status {
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

Result<RunCounts> SqlStore::count_runs(const Filter& filter) {
    TRY(needs_event(filter));
    RunCounts counts;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        counts = {};
        return each_piece(connection, database_->dialect(), numbered, Detail::Counts, Grain::Day,
                          [&](const Piece& piece) -> Status {
                              count_piece(piece, numbered, counts);
                              return success();
                          });
    });
    if (!looked) return looked.error();
    return counts;
}

Result<std::vector<TrendPoint>> SqlStore::trend(const Filter& filter) {
    TRY(needs_event(filter));
    std::vector<TrendPoint> points;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        points.clear();
        std::map<std::pair<std::uint64_t, std::uint32_t>, TrendPoint> days;
        const Status counted = each_piece(connection, database_->dialect(), numbered, Detail::Sketches, Grain::Day,
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
            TRY_ASSIGN(point.build, labels_.text_of(connection, key.second));
            points.push_back(std::move(point));
        }
        return success();
    });
    if (!looked) return looked.error();
    return points;
}

}  // namespace lagtrap::server
