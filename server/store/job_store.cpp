#include "server/store/job_store.hpp"

#include "core/digest.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

enum class JobState { Waiting = 0, Running = 1, Failed = 2 };

std::uint64_t after(std::uint64_t now_ns, std::chrono::nanoseconds wait) {
    return now_ns + static_cast<std::uint64_t>(wait.count());
}

// Queues the job again, unless an identical one is already waiting.
Status make_wait(Connection& connection, std::uint64_t id, std::uint64_t not_before_ns,
                 const std::string& reason) {
    TRY(
        connection.execute("DELETE FROM job WHERE id = $1 AND EXISTS (SELECT 1 FROM job w WHERE "
                           "w.kind = job.kind AND w.payload = job.payload AND w.state = 0)",
                           {id}));
    TRY(connection.execute(
        "UPDATE job SET state = 0, not_before_ns = $2, lease = '', reason = $3 WHERE id = $1",
        {id, not_before_ns, reason}));
    return success();
}

Status make_failed(Connection& connection, std::uint64_t id, std::uint64_t now_ns,
                   const std::string& reason) {
    TRY(connection.execute(
        "UPDATE job SET state = 2, not_before_ns = $2, lease = '', reason = $3 WHERE id = $1",
        {id, now_ns, reason}));
    return success();
}

// Ends the leases of jobs whose worker is gone.
Status end_leases(Connection& connection, const Dialect& dialect, std::uint64_t now_ns) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> over;
    {
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT id, attempts FROM job WHERE state = 1 AND lease_until_ns <= $1 LIMIT 100" +
                    std::string(dialect.skip_locked),
                {now_ns}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            over.emplace_back(rows->natural(0), rows->small(1));
        }
    }
    for (const auto& [id, attempts] : over) {
        if (attempts < job_attempts_limit) {
            TRY(make_wait(connection, id, now_ns, "its worker went away"));
        } else {
            TRY(make_failed(connection, id, now_ns, "its worker went away each time"));
        }
    }
    return success();
}

}  // namespace

Result<bool> insert_job(Connection& connection, const NewJob& job) {
    TRY_ASSIGN(const auto added,
               connection.execute(
                   "INSERT INTO job(kind, payload, state, attempts, not_before_ns, lease_until_ns,"
                   " lease, reason) VALUES($1,$2,0,0,$3,0,'','') ON CONFLICT(kind, payload) WHERE "
                   "state = 0 DO NOTHING",
                   {job.kind, job.payload, job.not_before_realtime_ns}));
    return added > 0;
}

Result<AddOutcome> JobStore::put_job(const NewJob& job) const {
    bool is_new = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(is_new, insert_job(connection, job));
        return success();
    });
    if (!written) return written.error();
    return is_new ? AddOutcome::New : AddOutcome::Already;
}

Result<std::optional<Job>> JobStore::take_job(const std::vector<std::string>& kinds,
                                              std::uint64_t now_realtime_ns,
                                              std::chrono::nanoseconds lease) const {
    std::optional<Job> taken;
    const std::string proof = random_uuid();
    const std::uint64_t until_ns = after(now_realtime_ns, lease);
    const Status written_2 = session_->write([&](Connection& connection) -> Status {
        taken.reset();
        TRY(end_leases(connection, session_->dialect(), now_realtime_ns));
        Where where;
        where.add("state = 0");
        where.add("not_before_ns <= ?", now_realtime_ns);
        std::string list;
        for (const std::string& kind : kinds)
            list += (list.empty() ? "" : ", ") + where.parameter(kind);
        if (!kinds.empty()) where.add("kind IN (" + list + ")");
        {
            TRY_ASSIGN(const auto rows,
                       connection.query("SELECT id, kind, payload, attempts FROM job" +
                                            where.sql() + " ORDER BY not_before_ns, id LIMIT 1" +
                                            session_->dialect().skip_locked,
                                        where.values()));
            TRY_ASSIGN(const bool found, rows->next());
            if (!found) return success();
            taken = Job{rows->natural(0), rows->text(1), rows->text(2), rows->small(3) + 1, proof};
        }
        TRY(
            connection.execute("UPDATE job SET state = 1, attempts = attempts + 1, lease = $2, "
                               "lease_until_ns = $3 WHERE id = $1",
                               {taken->id, proof, until_ns}));
        return success();
    });
    if (!written_2) return written_2.error();
    return taken;
}

Result<bool> JobStore::renew_job(const Job& job, std::uint64_t now_realtime_ns,
                                 std::chrono::nanoseconds lease) const {
    std::uint64_t changed = 0;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            changed,
            connection.execute(
                "UPDATE job SET lease_until_ns = $3 WHERE id = $1 AND lease = $2 AND state = 1",
                {job.id, job.lease, after(now_realtime_ns, lease)}));
        return success();
    });
    if (!written) return written.error();
    return changed > 0;
}

Result<bool> JobStore::finish_job(const Job& job) const {
    std::uint64_t changed = 0;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(changed,
                   connection.execute("DELETE FROM job WHERE id = $1 AND lease = $2 AND state = 1",
                                      {job.id, job.lease}));
        return success();
    });
    if (!written) return written.error();
    return changed > 0;
}

Result<bool> JobStore::fail_job(const Job& job, const std::string& reason,
                                std::uint64_t now_realtime_ns,
                                std::uint64_t retry_realtime_ns) const {
    bool ours = false;
    const std::string words = stored_text(reason);
    const Status written_2 = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto attempts,
                   connection.number(
                       "SELECT attempts FROM job WHERE id = $1 AND lease = $2 AND state = 1" +
                           std::string(session_->dialect().lock_rows),
                       {job.id, job.lease}));
        ours = attempts.has_value();
        if (!ours) return success();
        if (*attempts < job_attempts_limit)
            return make_wait(connection, job.id, retry_realtime_ns, words);
        return make_failed(connection, job.id, now_realtime_ns, words);
    });
    if (!written_2) return written_2.error();
    return ours;
}

Result<JobCounts> JobStore::job_counts() const {
    JobCounts counts;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        counts = {};
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT state, count(*) FROM job GROUP BY state"));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            const auto state = static_cast<JobState>(rows->integer(0));
            (state == JobState::Waiting   ? counts.waiting
             : state == JobState::Running ? counts.running
                                          : counts.failed) = rows->natural(1);
        }
    });
    if (!looked) return looked.error();
    return counts;
}

Result<std::vector<FailedJob>> JobStore::failed_jobs(std::uint32_t limit) const {
    std::vector<FailedJob> failed;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        failed.clear();
        TRY_ASSIGN(
            const auto rows,
            connection.query("SELECT id, kind, payload, attempts, reason, not_before_ns FROM job "
                             "WHERE state = 2 ORDER BY not_before_ns DESC, id DESC LIMIT $1",
                             {limit}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            failed.push_back({{rows->natural(0), rows->text(1), rows->text(2), rows->small(3), {}},
                              rows->text(4),
                              rows->natural(5)});
        }
    });
    if (!looked) return looked.error();
    return failed;
}

}  // namespace lagtrap::server
