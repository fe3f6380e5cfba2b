#include "server/store/batch_store.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/digest.hpp"
#include "server/store/batch_writer.hpp"
#include "server/store/delay_links.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t signs_kept_ns = 30 * day_ns;

}  // namespace

Result<std::vector<HostSign>> BatchStore::signs_of_hosts(std::uint64_t now_realtime_ns) const {
    std::map<std::string, std::uint64_t> last;
    const std::uint64_t from_ns =
        now_realtime_ns > signs_kept_ns ? now_realtime_ns - signs_kept_ns : 0;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        last.clear();
        const auto read = [&](const std::string& sql, const std::vector<Value>& values) -> Status {
            TRY_ASSIGN(const auto rows, connection.query(sql, values));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                if (rows->is_null(1) || rows->natural(1) < from_ns || rows->bytes(0).empty())
                    continue;
                std::uint64_t& known = last[rows->text(0)];
                known = std::max(known, rows->natural(1));
            }
        };
        // One index search per host, because there are many batches.
        TRY(
            read("SELECT l.text, (SELECT max(b.received_ns) FROM batch b WHERE b.host = l.id) FROM "
                 "label l WHERE l.kind = $1",
                 {LabelKind::Host}));
        return read(
            "SELECT host, max(received_ns) FROM bundle WHERE received_ns >= $1 GROUP BY host",
            {from_ns});
    });
    if (!looked) return looked.error();
    std::vector<HostSign> signs;
    for (const auto& [host, at_ns] : last) signs.push_back({host, at_ns});
    return signs;
}

Result<AddOutcome> BatchStore::add_batch(const Receipt& receipt,
                                         const trace::RunBatch& batch) const {
    TRY_ASSIGN(const AddOutcome outcome, writer_->add(receipt, batch));
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
    if (session_->labels().resolve(host, receipt.sender, day))
        static_cast<void>(DelayLinks(*session_).link(host.begin()->second, first_ns, last_ns));
    return outcome;
}

Result<bool> BatchStore::has_batch(const std::string& digest) const {
    bool found = false;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto there,
                   connection.number("SELECT 1 FROM batch WHERE digest = $1", {digest}));
        found = there.has_value();
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

}  // namespace lagtrap::server
