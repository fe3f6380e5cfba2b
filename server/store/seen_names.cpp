#include "server/store/seen_names.hpp"

#include <algorithm>

namespace lagtrap::server {

void add_seen(SeenNames& seen, const SeenKey& key, std::uint64_t at_ns) {
    SeenSpan& span = seen[key];
    span.first_ns = std::min(span.first_ns, at_ns);
    span.last_ns = std::max(span.last_ns, at_ns);
}

Status write_seen(Connection& connection, const SeenNames& seen) {
    for (const auto& [key, span] : seen) {
        const auto& [event, kind, label] = key;
        TRY(connection.execute(
            "INSERT INTO seen(event, kind, label, first_ns, last_ns) VALUES($1,$2,$3,$4,$5) ON "
            "CONFLICT(event, kind, label) DO UPDATE SET first_ns = CASE WHEN seen.first_ns < "
            "excluded.first_ns THEN seen.first_ns ELSE excluded.first_ns END,"
            " last_ns = CASE WHEN seen.last_ns > excluded.last_ns THEN seen.last_ns ELSE "
            "excluded.last_ns END",
            {event, kind, label, span.first_ns, span.last_ns}));
    }
    return success();
}

}  // namespace lagtrap::server
