#include "server/store/sqlite_writer.hpp"

#include <sqlite3.h>

namespace lagtrap::server {

std::vector<Status> SqliteWriter::commit(const std::vector<const Task*>& tasks) {
    return run_together(tasks) ? std::vector<Status>(tasks.size(), success()) : run_apart(tasks);
}

// In one transaction without savepoints, for which SQLite would copy each page that a task changes
// after another. If anything fails, nothing has happened.
bool SqliteWriter::run_together(const std::vector<const Task*>& tasks) {
    auto status = connection_->script("BEGIN IMMEDIATE");
    for (std::size_t i = 0; i < tasks.size() && status; ++i) status = (*tasks[i])(*connection_);
    if (status) status = connection_->script("COMMIT");
    if (!status) end_transaction();
    return status.ok();
}

// Each task by itself within one transaction: those that fail leave nothing.
std::vector<Status> SqliteWriter::run_apart(const std::vector<const Task*>& tasks) {
    std::vector<Status> outcomes;
    auto begun = connection_->script("BEGIN IMMEDIATE");
    for (const Task* task : tasks) {
        if (!begun) {
            outcomes.push_back(begun.error());
            continue;
        }
        auto outcome = connection_->script("SAVEPOINT task");
        if (outcome) outcome = (*task)(*connection_);
        const auto closed =
            connection_->script(outcome ? "RELEASE task" : "ROLLBACK TO task; RELEASE task");
        outcomes.push_back(outcome && !closed ? closed : outcome);
        // A full disk ends the whole transaction.
        if (sqlite3_get_autocommit(connection_->handle()) != 0) begun = closed ? outcome : closed;
    }
    if (begun) begun = connection_->script("COMMIT");
    if (begun) return outcomes;
    end_transaction();
    for (Status& outcome : outcomes)
        if (outcome) outcome = begun.error();
    return outcomes;
}

void SqliteWriter::end_transaction() {
    if (sqlite3_get_autocommit(connection_->handle()) == 0)
        static_cast<void>(connection_->script("ROLLBACK"));
}

void SqliteWriter::release_memory_at_rest() {
    const auto now = std::chrono::steady_clock::now();
    if (const auto total = sqlite3_total_changes64(connection_->handle());
        total != changes_.total) {
        changes_ = {total, now};
    } else if (now - changes_.last_at >= rest_after_) {
        connection_->release_memory();
        changes_.last_at = now;
    }
}

}  // namespace lagtrap::server
