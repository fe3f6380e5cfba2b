#include "server/store/mark_store.hpp"

#include "server/store/batch_writer.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {

// Returns whether the run changed.
Result<bool> MarkStore::mark_one(Connection& connection, const DirtyMark& mark,
                                 RollupChange& rollups) const {
    const bool apart = *session_->dialect().detail_join != 0;
    RunRecord run;
    {
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT r.event, r.begin_ns, r.duration_ns, r.bin, r.build, r.start, r.delay,"
                " r.dirty, r.weight FROM run r" +
                    std::string(session_->dialect().detail_join) + " WHERE " +
                    (apart ? "d.id" : "r.id") + " = $1" + session_->dialect().lock_rows,
                {mark.run}));
        TRY_ASSIGN(const bool there, rows->next());
        if (!there) return false;
        run.id = mark.run;
        run.event = rows->small(0);
        run.begin_ns = rows->natural(1);
        run.duration_ns = rows->natural(2);
        run.bin = static_cast<std::uint16_t>(rows->integer(3));
        run.build = rows->small(4);
        run.start = static_cast<std::uint8_t>(rows->integer(5));
        run.delay = rows->integer(6) != 0;
        run.mark = static_cast<RunMark>(rows->integer(7));
        run.weight = rows->small(8);
    }
    const bool by_hand = mark.rule == rule_by_hand;
    const RunMark wanted = !mark.dirty                  ? RunMark::None
                           : mark.rule == rule_duration ? RunMark::Outlier
                                                        : RunMark::Dirty;
    if (!by_hand) {
        TRY_ASSIGN(
            const auto rows,
            connection.query("SELECT rule FROM run_mark WHERE run = $1 ORDER BY id DESC LIMIT 1",
                             {mark.run}));
        TRY_ASSIGN(const bool marked, rows->next());
        if (marked && rows->bytes(0) == rule_by_hand) return false;
    }
    // A rule's mark that changes nothing is dropped. A person's mark is always kept, because it
    // overrides rules.
    if (run.mark == wanted && !by_hand) return false;
    TRY(insert_mark(connection, mark));
    if (run.mark == wanted) return false;
    rollups.remove(run);
    run.mark = wanted;
    rollups.add(run);
    TRY(connection.execute(
        "UPDATE run SET dirty = $1 WHERE event = $2 AND begin_ns = $3 AND id = $4",
        {run.mark, run.event, run.begin_ns, run.id}));
    return true;
}

Result<bool> MarkStore::is_visible(std::uint64_t run) const {
    if (visibility_.sees_everything()) return true;
    TRY_ASSIGN(const auto found, RunStore(*session_, visibility_).find_runs({run}));
    return !found.empty();
}

Result<std::uint64_t> MarkStore::mark_dirty(const std::vector<DirtyMark>& marks) const {
    std::vector<DirtyMark> allowed;
    for (const DirtyMark& mark : marks) {
        TRY_ASSIGN(const bool visible, is_visible(mark.run));
        if (visible) allowed.push_back(mark);
    }
    std::uint64_t changed = 0;
    const Status written = session_->write([&](Connection& connection) -> Status {
        changed = 0;
        RollupChange rollups;
        for (const DirtyMark& mark : allowed) {
            TRY_ASSIGN(const bool one, mark_one(connection, mark, rollups));
            changed += one ? 1 : 0;
        }
        return rollups.apply(connection, session_->dialect());
    });
    if (!written) return written.error();
    return changed;
}

Result<std::vector<DirtyMark>> MarkStore::dirty_marks(std::uint64_t run) const {
    std::vector<DirtyMark> marks;
    TRY_ASSIGN(const bool visible, is_visible(run));
    if (!visible) return marks;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        marks.clear();
        TRY_ASSIGN(const auto rows, connection.query("SELECT dirty, rule, reason, author, at_ns "
                                                     "FROM run_mark WHERE run = $1 ORDER BY id",
                                                     {run}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            marks.push_back({run, rows->integer(0) != 0, rows->text(1), rows->text(2),
                             rows->text(3), rows->natural(4)});
        }
    });
    if (!looked) return looked.error();
    return marks;
}

}  // namespace lagtrap::server
