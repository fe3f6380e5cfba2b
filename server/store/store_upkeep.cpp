#include "server/store/store_upkeep.hpp"

#include <algorithm>

#include "server/store/batch_writer.hpp"
#include "server/store/delay_links.hpp"
#include "server/store/objects_parts.hpp"
#include "server/store/rollup.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t days_ahead = 3;

constexpr std::uint64_t batch_digests_kept_ns = 30 * day_ns;

constexpr std::uint64_t failed_jobs_kept_ns = 30 * day_ns;

// Anybody can cause refused attempts, so their number is limited too.
constexpr std::uint64_t audit_kept_ns = 400 * day_ns;

constexpr std::uint64_t refusals_kept = 100'000;

constexpr std::uint64_t cause_delays_kept_ns = 400 * day_ns;

constexpr std::uint64_t messages_kept_ns = 30 * day_ns;

constexpr std::uint64_t object_watches_kept_ns = 7 * day_ns;

constexpr std::uint64_t linked_back_ns = 2 * day_ns;

std::uint64_t before(std::uint64_t now_ns, std::uint64_t span_ns) {
    return now_ns > span_ns ? now_ns - span_ns : 0;
}

}  // namespace

Result<std::optional<std::uint64_t>> StoreUpkeep::oldest_hour() const {
    std::optional<std::uint64_t> hour;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto found,
            connection.number("SELECT min(bucket) FROM rollup WHERE level = $1 AND records > 0",
                              {RollupLevel::Hour}));
        hour.reset();
        if (found) hour = static_cast<std::uint64_t>(*found);
        return success();
    });
    if (!looked) return looked.error();
    return hour;
}

Result<RemovedRuns> StoreUpkeep::remove_before_hour(std::uint64_t hour) const {
    TRY_ASSIGN(const auto oldest, oldest_hour());
    if (!oldest || *oldest >= hour) return RemovedRuns{};
    TRY_ASSIGN(const std::uint64_t removed, session_->database().remove_runs_before_hour(hour));
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY(connection.execute("DELETE FROM rollup WHERE level = $1 AND bucket < $2",
                               {RollupLevel::Hour, hour}));
        // If a day has lost some of its hours, rebuilds its roll-up from the remaining ones.
        const std::uint64_t day = hour / hours_a_day;
        TRY(connection.execute("DELETE FROM rollup WHERE level = $1 AND bucket <= $2",
                               {RollupLevel::Day, day}));
        TRY(sum_up_day(connection, day));
        TRY(connection.execute("DELETE FROM seen WHERE last_ns < $1",
                               {before(hour * hour_ns, seen_slack_ns)}));
        TRY(connection.execute("DELETE FROM stack WHERE last_day < $1", {day}));
        TRY(Labels::remove_unused(connection, day));
        TRY(connection.execute("DELETE FROM run_mark WHERE run < $1",
                               {first_run_id_of_hour(hour)}));
        TRY(connection.execute("UPDATE delay SET run = NULL WHERE run < $1",
                               {first_run_id_of_hour(hour)}));
        return success();
    });
    if (!written) return written.error();
    return RemovedRuns{removed, hour * hour_ns};
}

Status StoreUpkeep::sum_up_day(Connection& connection, std::uint64_t day) {
    struct Sums {
        std::uint64_t records = 0, runs = 0, delays = 0, longest_ns = 0, last_ns = 0;
        Sketch durations, delay_durations;
    };
    std::map<RollupKey, Sums> days;
    {
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT event, build, start, dirty, records, runs, delays, longest_ns, last_ns,"
                " sketch, delay_sketch FROM rollup WHERE level = $1 AND bucket >= $2 AND bucket < "
                "$3",
                {RollupLevel::Hour, day * hours_a_day, (day + 1) * hours_a_day}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            Sums& sums = days[{rows->small(0), RollupLevel::Day, day, rows->small(1),
                               static_cast<std::uint8_t>(rows->integer(2)),
                               static_cast<RunMark>(rows->integer(3))}];
            sums.records += rows->natural(4);
            sums.runs += rows->natural(5);
            sums.delays += rows->natural(6);
            sums.longest_ns = std::max(sums.longest_ns, rows->natural(7));
            sums.last_ns = std::max(sums.last_ns, rows->natural(8));
            TRY(sums.durations.merge_serialised(rows->bytes(9)));
            TRY(sums.delay_durations.merge_serialised(rows->bytes(10)));
        }
    }
    for (const auto& [key, sums] : days) {
        const std::string durations = sums.durations.serialise(),
                          delay_durations = sums.delay_durations.serialise();
        TRY(connection.execute(
            "INSERT INTO rollup(event, level, bucket, build, start, dirty, records, runs, delays,"
            " longest_ns, last_ns, sketch, delay_sketch) "
            "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)",
            {key.event, key.level, key.bucket, key.build, key.start, key.mark, sums.records,
             sums.runs, sums.delays, sums.longest_ns, sums.last_ns, Value::bytes(durations),
             Value::bytes(delay_durations)}));
    }
    return success();
}

Result<RemovedRuns> StoreUpkeep::remove_runs_before(std::uint64_t realtime_ns) const {
    return remove_before_hour(std::min(realtime_ns / hour_ns, last_hour));
}

Result<RemovedRuns> StoreUpkeep::shrink_runs(std::uint64_t bytes) const {
    RemovedRuns removed;
    // Sizes differ from the average, so one step may not be enough.
    for (;;) {
        TRY_ASSIGN(const RemovedRuns step, remove_surplus_runs(bytes));
        if (step.runs == 0) return removed;
        removed.runs += step.runs;
        removed.before_realtime_ns = step.before_realtime_ns;
    }
}

Result<RemovedRuns> StoreUpkeep::remove_surplus_runs(std::uint64_t bytes) const {
    RemovedRuns removed;
    TRY_ASSIGN(const StoreSize before_all, size());
    if (before_all.bytes <= bytes || before_all.runs == 0) return removed;
    // Estimates how many records must go from their average size, then finds the hours that contain
    // them.
    const std::uint64_t each_bytes = std::max<std::uint64_t>(before_all.bytes / before_all.runs, 1);
    const std::uint64_t surplus = (before_all.bytes - bytes) / each_bytes + 1;
    std::uint64_t hour = 0;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT bucket, CAST(sum(records) AS BIGINT) FROM rollup WHERE "
                                    "level = $1 GROUP BY bucket ORDER BY bucket",
                                    {RollupLevel::Hour}));
        std::uint64_t gone = 0;
        std::optional<std::uint64_t> candidate;
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            if (candidate) hour = rows->natural(0);
            if (gone >= surplus) break;
            gone += rows->natural(1);
            candidate = rows->natural(0);
        }
        return success();
    });
    if (!looked) return looked.error();
    return hour == 0 ? removed : remove_before_hour(hour);
}

Result<StoreSize> StoreUpkeep::size() const {
    StoreSize size;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto runs,
            connection.number("SELECT CAST(sum(records) AS BIGINT) FROM rollup WHERE level = $1",
                              {RollupLevel::Day}));
        size.runs = static_cast<std::uint64_t>(runs.value_or(0));
        TRY_ASSIGN(const auto lost,
                   connection.number("SELECT CAST(sum(lost) AS BIGINT) FROM batch WHERE lost > 0"));
        size.lost = static_cast<std::uint64_t>(lost.value_or(0));
        return success();
    });
    if (!looked) return looked.error();
    TRY_ASSIGN(size.bytes, session_->database().run_bytes());
    size.memory_bytes = session_->database().memory_bytes();
    return size;
}

Status StoreUpkeep::maintain(std::uint64_t now_realtime_ns) const {
    TRY(session_->database().make_days(now_realtime_ns / day_ns,
                                       now_realtime_ns / day_ns + days_ahead));
    const Status written = session_->write([&](Connection& connection) -> Status {
        // Clocks of other servers may be behind.
        TRY(connection.execute("DELETE FROM quota WHERE day + 1 < $1", {now_realtime_ns / day_ns}));
        TRY(connection.execute("DELETE FROM session WHERE expires_ns <= $1", {now_realtime_ns}));
        TRY(connection.execute("DELETE FROM batch WHERE received_ns < $1",
                               {before(now_realtime_ns, batch_digests_kept_ns)}));
        TRY(drop_object_watches_before(connection,
                                       before(now_realtime_ns, object_watches_kept_ns)));
        TRY(connection.execute("DELETE FROM audit WHERE at_ns < $1",
                               {before(now_realtime_ns, audit_kept_ns)}));
        TRY(connection.execute(
            "DELETE FROM audit WHERE action LIKE 'refuse %' AND id < (SELECT id FROM audit WHERE "
            "action LIKE 'refuse %' ORDER BY id DESC LIMIT 1 OFFSET $1)",
            {refusals_kept}));
        TRY(connection.execute("DELETE FROM cause_delay WHERE begin_ns < $1",
                               {before(now_realtime_ns, cause_delays_kept_ns)}));
        TRY(connection.execute("DELETE FROM tell_message WHERE state >= 2 AND settled_ns < $1",
                               {before(now_realtime_ns, messages_kept_ns)}));
        TRY(connection.execute("DELETE FROM tell_finding WHERE ended_ns > 0 AND ended_ns < $1",
                               {before(now_realtime_ns, messages_kept_ns)}));
        TRY(connection.execute("DELETE FROM job WHERE state = 2 AND not_before_ns < $1",
                               {before(now_realtime_ns, failed_jobs_kept_ns)}));
        return success();
    });
    if (!written) return written.error();
    return DelayLinks(*session_).link(std::nullopt, before(now_realtime_ns, linked_back_ns),
                                      now_realtime_ns);
}

Status StoreUpkeep::backup(const std::filesystem::path& file) const {
    return session_->database().backup(file);
}

Result<std::vector<std::string>> StoreUpkeep::check() const {
    TRY_ASSIGN(auto complaints, session_->database().check_structure());
    const Status looked = session_->read([&](Connection& connection) -> Status {
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> hours;
        for (const char* sql :
             {"SELECT event, bucket, CAST(sum(records) AS BIGINT) FROM rollup WHERE level = 0 "
              "GROUP BY event, bucket",
              "SELECT event, begin_ns / 3600000000000, -count(*) FROM run GROUP BY 1, 2"}) {
            TRY_ASSIGN(const auto rows, connection.query(sql));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                hours[{rows->small(0), rows->natural(1)}] += rows->integer(2);
            }
        }
        for (const auto& [key, difference] : hours) {
            if (difference == 0 || complaints.size() >= complaints_limit) continue;
            TRY_ASSIGN(const std::string event, session_->labels().text_of(connection, key.first));
            complaints.push_back("the roll-up of event " + event + " in hour " +
                                 std::to_string(key.second) + " counts " +
                                 std::to_string(difference) + " runs more than there are");
        }
        return success();
    });
    if (!looked) return looked.error();
    return complaints;
}

}  // namespace lagtrap::server
