#include "server/store/bundle_rows.hpp"

namespace lagtrap::server {

const std::string bundle_columns =
    "SELECT b.number, b.digest, b.bytes, b.received_ns, b.sender, b.session_id, b.host, b.event, "
    "b.process,"
    " b.started_ns, b.longest_delay_ns, b.delays, b.bad_reason, b.parsed FROM bundle b";

BundleRow read_bundle_row(const Rows& rows) {
    BundleRow row;
    row.number = rows.integer(0);
    row.digest = rows.text(1);
    row.bytes = rows.natural(2);
    row.received_realtime_ns = rows.natural(3);
    row.sender = rows.text(4);
    row.facts = {rows.text(5),    rows.text(6),     rows.text(7),  rows.text(8),
                 rows.natural(9), rows.natural(10), rows.small(11)};
    row.bad_reason = rows.text(12);
    row.parsed = rows.integer(13) != 0;
    return row;
}

}  // namespace lagtrap::server
