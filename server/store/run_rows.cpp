#include "server/store/run_rows.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {

std::string run_columns(const Dialect& dialect) {
    return std::string(
               "SELECT r.id, r.event, r.begin_ns, r.duration_ns, r.host, r.account, r.build, "
               "r.process, r.start,"
               " r.delay, r.dirty, r.weight, r.unit, ") +
           dialect.detail_column;
}

Status read_runs(Rows& rows, std::vector<RawRun>& found) {
    for (;;) {
        TRY_ASSIGN(const bool more, rows.next());
        if (!more) return success();
        RawRun run;
        run.record.id = rows.natural(0);
        run.record.event = rows.small(1);
        run.record.begin_ns = rows.natural(2);
        run.record.duration_ns = rows.natural(3);
        run.record.host = rows.small(4);
        run.record.user = rows.small(5);
        run.record.build = rows.small(6);
        run.record.process = rows.small(7);
        run.record.start = static_cast<std::uint8_t>(rows.integer(8));
        run.record.delay = rows.integer(9) != 0;
        run.record.mark = static_cast<RunMark>(rows.integer(10));
        run.record.weight = rows.small(11);
        run.record.unit = rows.small(12);
        TRY_ASSIGN(run.detail, read_detail(rows.bytes(13)));
        found.push_back(std::move(run));
    }
}

}  // namespace lagtrap::server
