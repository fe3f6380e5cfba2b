#include "server/store/run_store.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "server/store/run_rows.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t found_limit = 10'000;

constexpr std::size_t ids_at_once = 1000;

constexpr std::uint32_t durations_limit = 1'000'000;

constexpr std::size_t stacks_limit = 1000;

std::uint64_t end_of_stage(const DetailRecord& detail, std::size_t stage,
                           std::uint64_t duration_ns) {
    const std::uint64_t at_ns = detail.stages[stage].at_ns;
    const std::uint64_t end_ns =
        stage + 1 < detail.stages.size() ? detail.stages[stage + 1].at_ns : duration_ns;
    return std::max(at_ns, end_ns);
}

struct StackHits {
    std::vector<std::uint64_t> durations_ns;
};

}  // namespace

Result<std::vector<StoredRun>> RunStore::fill_in_runs(Connection& connection,
                                                      const std::vector<RawRun>& raw) const {
    std::vector<StoredRun> runs;
    runs.reserve(raw.size());
    for (const auto& [record, detail] : raw) {
        StoredRun run;
        run.id = record.id;
        run.begin_realtime_ns = record.begin_ns;
        run.duration_ns = record.duration_ns;
        run.threshold_ns = detail.threshold_ns;
        run.key = detail.key;
        run.pid = detail.pid;
        run.begin_tid = detail.begin_tid;
        run.end_tid = detail.end_tid;
        run.start = static_cast<trace::StartKind>(record.start);
        run.delay = record.delay;
        run.aborted = detail.aborted;
        run.without_stages = detail.without_stages;
        run.weight = record.weight;
        TRY_ASSIGN(run.event, session_->labels().text_of(connection, record.event));
        TRY_ASSIGN(run.host, session_->labels().text_of(connection, record.host));
        TRY_ASSIGN(run.user, session_->labels().text_of(connection, record.user));
        TRY_ASSIGN(run.build, session_->labels().text_of(connection, record.build));
        TRY_ASSIGN(run.process, session_->labels().text_of(connection, record.process));
        TRY_ASSIGN(run.unit, session_->labels().text_of(connection, record.unit));
        TRY_ASSIGN(run.executable, session_->labels().text_of(connection, detail.executable));
        TRY_ASSIGN(run.thread, session_->labels().text_of(connection, detail.thread));
        for (std::size_t i = 0; i < detail.stages.size(); ++i) {
            const DetailStage& stage = detail.stages[i];
            TRY_ASSIGN(std::string name, session_->labels().text_of(connection, stage.label));
            run.stages.push_back({std::move(name), stage.at_ns,
                                  end_of_stage(detail, i, record.duration_ns) - stage.at_ns,
                                  stage.tid});
        }
        run.times = detail.times;
        if (record.mark == RunMark::Dirty) run.dirty.emplace().run = record.id;
        if (record.mark == RunMark::Outlier) run.outlier.emplace().run = record.id;
        runs.push_back(std::move(run));
    }
    TRY(add_links(connection, runs));
    TRY(add_marks(connection, runs));
    return runs;
}

Status RunStore::add_links(Connection& connection, std::vector<StoredRun>& runs) const {
    std::map<std::uint64_t, StoredRun*> delayed;
    std::vector<std::uint64_t> ids;
    for (StoredRun& run : runs) {
        delayed[run.id] = &run;
        ids.push_back(run.id);
    }
    if (ids.empty()) return success();
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT x.run, b.digest, x.number FROM delay x JOIN bundle b ON "
                                "b.number = x.bundle WHERE x.run IN (" +
                                id_list(ids) + ") ORDER BY x.id"));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        StoredRun& run = *delayed.at(rows->natural(0));
        run.bundle = rows->text(1);
        run.bundle_delay = rows->small(2);
    }
}

Status RunStore::add_marks(Connection& connection, std::vector<StoredRun>& runs) const {
    std::map<std::uint64_t, DirtyMark*> marks;
    std::vector<std::uint64_t> ids;
    for (StoredRun& run : runs) {
        if (!run.dirty && !run.outlier) continue;
        marks[run.id] = run.dirty ? &*run.dirty : &*run.outlier;
        ids.push_back(run.id);
    }
    if (ids.empty()) return success();
    TRY_ASSIGN(const auto rows,
               connection.query(
                   "SELECT run, dirty, rule, reason, author, at_ns FROM run_mark WHERE run IN (" +
                   id_list(ids) + ") ORDER BY id"));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return success();
        *marks.at(rows->natural(0)) = {rows->natural(0), rows->integer(1) != 0, rows->text(2),
                                       rows->text(3),    rows->text(4),         rows->natural(5)};
    }
}

Result<RunPage> RunStore::list(const Filter& filter, RunOrder order, std::uint32_t limit,
                               std::optional<PageKey> after) const {
    if (order == RunOrder::Oldest)
        return make_error(ErrorKind::Invalid, "runs are not listed from the oldest on");
    limit = std::clamp<std::uint32_t>(limit, 1, page_limit);
    const bool slowest = order == RunOrder::Slowest;
    const std::string column = slowest ? "r.duration_ns" : "r.begin_ns";
    RunPage page;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            page = {};
            Where where;
            add_run_conditions(where, numbered);
            add_mark_conditions(where, numbered);
            if (after) {
                const std::string value = where.parameter(after->value),
                                  id = where.parameter(after->id);
                where.add("(" + column + ", r.id) < (" + value + ", " + id + ")");
            }
            const std::string by = " ORDER BY " + column + " DESC, r.id DESC";
            // Selects the rows first, then the details of only those on the page.
            const std::string sql = run_columns(session_->dialect()) +
                                    " FROM (SELECT r.* FROM run r" + where.sql() + by + " LIMIT " +
                                    std::to_string(limit + 1) + ") r" +
                                    session_->dialect().detail_join + by;
            std::vector<RawRun> found;
            TRY_ASSIGN(auto rows, connection.query(sql, where.values()));
            TRY(read_runs(*rows, found));
            rows.reset();
            if (found.size() > limit) {
                found.resize(limit);
                const RunRecord& last = found.back().record;
                page.next = PageKey{slowest ? last.duration_ns : last.begin_ns, last.id};
            }
            TRY_ASSIGN(page.runs, fill_in_runs(connection, found));
            return success();
        });
    if (!looked) return looked.error();
    return page;
}

Result<std::vector<RawRun>> RunStore::select_runs(Connection& connection,
                                                  const std::vector<std::uint64_t>& ids) const {
    std::map<std::uint64_t, RawRun> by_id;
    for (std::size_t at = 0; at < std::min(ids.size(), found_limit); at += ids_at_once) {
        const auto end =
            ids.begin() + static_cast<std::ptrdiff_t>(std::min(at + ids_at_once, ids.size()));
        const std::string list = id_list({ids.begin() + static_cast<std::ptrdiff_t>(at), end});
        const bool apart = *session_->dialect().detail_join != 0;
        std::vector<RawRun> found;
        TRY_ASSIGN(const auto rows,
                   connection.query(run_columns(session_->dialect()) + " FROM run r" +
                                    session_->dialect().detail_join + " WHERE " +
                                    (apart ? "d.id" : "r.id") + " IN (" + list + ")"));
        TRY(read_runs(*rows, found));
        for (RawRun& run : found) by_id.emplace(run.record.id, std::move(run));
    }
    std::vector<RawRun> ordered;
    for (const std::uint64_t id : ids)
        if (const auto found = by_id.find(id); found != by_id.end())
            ordered.push_back(found->second);
    return ordered;
}

Result<std::vector<StoredRun>> RunStore::find_runs(const std::vector<std::uint64_t>& ids) const {
    std::vector<StoredRun> runs;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto raw, select_runs(connection, ids));
        TRY_ASSIGN(runs, fill_in_runs(connection, raw));
        return success();
    });
    if (!looked) return looked.error();
    std::erase_if(runs,
                  [&](const StoredRun& run) { return !visibility_.sees(run.event, run.unit); });
    return runs;
}

Result<trace::RunStack> RunStore::load_stack(Connection& connection, std::uint64_t id) const {
    if (id == 0) return trace::RunStack();
    TRY_ASSIGN(const auto rows, connection.query("SELECT frames FROM stack WHERE id = $1", {id}));
    TRY_ASSIGN(const bool found, rows->next());
    if (!found) return trace::RunStack();
    return read_stack(rows->bytes(0));
}

Result<std::optional<RunDetail>> RunStore::find_run(std::uint64_t id) const {
    std::optional<RunDetail> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.reset();
        TRY_ASSIGN(const auto raw, select_runs(connection, {id}));
        if (raw.empty()) return success();
        TRY_ASSIGN(auto runs, fill_in_runs(connection, raw));
        RunDetail run{std::move(runs.front()), {}};
        const DetailRecord& detail = raw.front().detail;
        TRY_ASSIGN(auto begin, load_stack(connection, detail.begin_stack));
        run.markers.push_back({"begin", 0, detail.begin_tid, std::move(begin)});
        for (std::size_t i = 0; i < detail.stages.size(); ++i) {
            TRY_ASSIGN(auto stack, load_stack(connection, detail.stages[i].stack));
            run.markers.push_back({run.run.stages[i].name, detail.stages[i].at_ns,
                                   detail.stages[i].tid, std::move(stack)});
        }
        TRY_ASSIGN(auto end, load_stack(connection, detail.end_stack));
        run.markers.push_back({"end", run.run.duration_ns, detail.end_tid, std::move(end)});
        found = std::move(run);
        return success();
    });
    if (!looked) return looked.error();
    if (found && !visibility_.sees(found->run.event, found->run.unit)) found.reset();
    return found;
}

Result<std::vector<RunDuration>> RunStore::run_durations(const Filter& filter,
                                                         std::uint32_t limit) const {
    std::vector<RunDuration> found;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            found.clear();
            Where where;
            add_run_conditions(where, numbered);
            TRY_ASSIGN(
                const auto rows,
                connection.query(
                    "SELECT r.id, r.begin_ns, r.duration_ns, r.weight, r.start, r.delay, r.dirty,"
                    " r.build, r.host, (SELECT m.rule FROM run_mark m WHERE m.run = r.id ORDER BY "
                    "m.id DESC LIMIT 1) FROM run r" +
                        where.sql() + " ORDER BY r.begin_ns DESC, r.id DESC LIMIT " +
                        std::to_string(std::min(limit, durations_limit)),
                    where.values()));
            std::vector<std::pair<std::uint32_t, std::uint32_t>> names;
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                found.push_back({rows->natural(0),
                                 rows->natural(1),
                                 rows->natural(2),
                                 rows->small(3),
                                 static_cast<trace::StartKind>(rows->integer(4)),
                                 rows->integer(5) != 0,
                                 rows->integer(6) == static_cast<std::int64_t>(RunMark::Dirty),
                                 rows->integer(6) == static_cast<std::int64_t>(RunMark::Outlier),
                                 rows->bytes(9) == rule_by_hand,
                                 {},
                                 {}});
                names.emplace_back(rows->small(7), rows->small(8));
            }
            for (std::size_t i = 0; i < found.size(); ++i) {
                TRY_ASSIGN(found[i].build, session_->labels().text_of(connection, names[i].first));
                TRY_ASSIGN(found[i].host, session_->labels().text_of(connection, names[i].second));
            }
            return success();
        });
    if (!looked) return looked.error();
    return found;
}

Result<std::vector<RawRun>> RunStore::newest_runs(Connection& connection,
                                                  const NumberedFilter& numbered,
                                                  std::uint32_t limit) const {
    Where where;
    add_run_conditions(where, numbered);
    add_mark_conditions(where, numbered);
    std::vector<RawRun> runs;
    TRY_ASSIGN(const auto rows,
               connection.query(run_columns(session_->dialect()) + " FROM (SELECT r.* FROM run r" +
                                    where.sql() + " ORDER BY r.begin_ns DESC, r.id DESC LIMIT " +
                                    std::to_string(limit) + ") r" + session_->dialect().detail_join,
                                where.values()));
    TRY(read_runs(*rows, runs));
    return runs;
}

Result<TimedRuns> RunStore::run_times(const Filter& filter, std::uint32_t run_limit) const {
    TimedRuns answer;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            answer = {};
            TRY_ASSIGN(const auto runs, newest_runs(connection, numbered, run_limit));
            answer.runs_read = runs.size();
            for (const auto& [record, detail] : runs)
                if (detail.times)
                    answer.runs.push_back({record.duration_ns, record.weight, *detail.times});
            return success();
        });
    if (!looked) return looked.error();
    return answer;
}

Result<StageStacks> RunStore::stage_stacks(const Filter& filter, const std::string& stage,
                                           std::uint32_t run_limit) const {
    StageStacks answer;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            answer = {};
            const bool begin = stage == "begin";
            TRY_ASSIGN(const auto label,
                       session_->labels().find(connection, LabelKind::Stage, stage));
            if (!label && !begin) return success();
            TRY_ASSIGN(const auto runs, newest_runs(connection, numbered, run_limit));
            answer.runs_read = runs.size();
            std::unordered_map<std::uint64_t, StackHits> hits;
            for (const auto& [record, detail] : runs) {
                if (begin)
                    hits[detail.begin_stack].durations_ns.push_back(
                        detail.stages.empty() ? record.duration_ns : detail.stages.front().at_ns);
                for (std::size_t i = 0; i < detail.stages.size(); ++i)
                    if (label && detail.stages[i].label == *label)
                        hits[detail.stages[i].stack].durations_ns.push_back(
                            end_of_stage(detail, i, record.duration_ns) - detail.stages[i].at_ns);
            }
            for (auto& [stack, hit] : hits) {
                TRY_ASSIGN(auto frames, load_stack(connection, stack));
                auto& all = hit.durations_ns;
                std::sort(all.begin(), all.end());
                answer.stacks.push_back(
                    {std::move(frames), all.size(), all[(all.size() - 1) / 2], all.back()});
            }
            std::stable_sort(answer.stacks.begin(), answer.stacks.end(),
                             [](const StageStack& a, const StageStack& b) {
                                 return a.hits != b.hits ? a.hits > b.hits
                                                         : a.longest_ns > b.longest_ns;
                             });
            if (answer.stacks.size() > stacks_limit) answer.stacks.resize(stacks_limit);
            return success();
        });
    if (!looked) return looked.error();
    return answer;
}

}  // namespace lagtrap::server
