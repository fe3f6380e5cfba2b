#include "server/store/bundle_store.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "server/store/bundle_rows.hpp"
#include "server/store/run_store.hpp"
#include "server/store/seen_names.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

Result<std::vector<BundleRow>> select_rows(Connection& connection, const std::string& tail,
                                           const Values& values) {
    std::vector<BundleRow> found;
    TRY_ASSIGN(const auto rows, connection.query(bundle_columns + tail, values));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return found;
        found.push_back(read_bundle_row(*rows));
    }
}

}  // namespace

Result<std::optional<BundleRow>> BundleStore::find(const std::string& digest) const {
    TRY_ASSIGN(auto rows, session_->select_all(bundle_columns + " WHERE b.digest = $1", {digest},
                                               read_bundle_row));
    TRY(limit_to_visible(rows));
    return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Result<std::vector<BundleRow>> BundleStore::list(std::uint32_t limit,
                                                 std::optional<std::int64_t> before) const {
    TRY_ASSIGN(auto rows,
               session_->select_all(
                   bundle_columns + " WHERE b.number < $1 ORDER BY b.number DESC LIMIT $2",
                   {before.value_or(INT64_MAX), limit}, read_bundle_row));
    TRY(limit_to_visible(rows));
    return rows;
}

Result<BundlePage> BundleStore::list_filtered(const Filter& filter, std::uint32_t limit,
                                              std::optional<PageKey> after) const {
    limit = std::clamp<std::uint32_t>(limit, 1, page_limit);
    BundlePage page;
    const bool by_delay = filter.event || !filter.user.empty() || !filter.build.empty() ||
                          !filter.process.empty() || !filter.unit.empty() || filter.start ||
                          has_pattern(filter.host);
    // Bad bundles have no delays and are found by their own columns.
    const auto list = [&](Connection& connection, const NumberedFilter* numbered) -> Status {
        page = {};
        Where where;
        std::string tail;
        if (numbered != nullptr) {
            add_delay_conditions(where, *numbered);
            where.add("x.delayed = 1");
            tail = " WHERE b.number IN (SELECT x.bundle FROM delay x" + where.sql() +
                   ") AND b.number < " + where.parameter(after ? after->id : INT64_MAX);
        } else {
            where.add("b.number < ?", after ? after->id : INT64_MAX);
            if (filter.from_ns)
                where.add("b.started_ns >= ?", std::min<std::uint64_t>(*filter.from_ns, INT64_MAX));
            if (filter.to_ns)
                where.add("b.started_ns < ?", std::min<std::uint64_t>(*filter.to_ns, INT64_MAX));
            where.add_any_of("b.host", filter.host);
            tail = where.sql();
        }
        tail += " ORDER BY b.number DESC LIMIT " + std::to_string(limit + 1);
        TRY_ASSIGN(page.bundles, select_rows(connection, tail, where.values()));
        if (page.bundles.size() > limit) {
            page.bundles.resize(limit);
            page.next = PageKey{0, static_cast<std::uint64_t>(page.bundles.back().number)};
        }
        return success();
    };
    if (by_delay) {
        const Status looked = session_->read_filtered(
            filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) {
                return list(connection, &numbered);
            });
        if (!looked) return looked.error();
    } else {
        const Status looked_2 =
            session_->read([&](Connection& connection) { return list(connection, nullptr); });
        if (!looked_2) return looked_2.error();
    }
    TRY(limit_to_visible(page.bundles));
    return page;
}

Result<std::uint64_t> BundleStore::waiting() const {
    std::uint64_t bundles = 0;
    if (!visibility_.sees_everything()) return bundles;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto count,
                   connection.number("SELECT count(*) FROM job WHERE kind = $1 AND state IN (0, 1)",
                                     {"parse"}));
        bundles = static_cast<std::uint64_t>(count.value_or(0));
        return success();
    });
    if (!looked) return looked.error();
    return bundles;
}

Status BundleStore::limit_to_visible(std::vector<BundleRow>& rows) const {
    const Sight* sight = visibility_.sight();
    if (sight == nullptr || rows.empty()) return success();
    struct Seen {
        std::uint32_t delays = 0, event = 0, process = 0;
        std::uint64_t longest_ns = 0;
    };
    std::vector<std::uint64_t> numbers;
    for (const BundleRow& row : rows) numbers.push_back(static_cast<std::uint64_t>(row.number));
    return session_->read([&](Connection& connection) -> Status {
        std::vector<BundleRow> kept;
        std::map<std::uint64_t, Seen> seen;
        TRY_ASSIGN(const NumberedSight numbered, number_sight(connection, *sight));
        {
            TRY_ASSIGN(const auto delays,
                       connection.query("SELECT x.bundle, x.event, x.process, x.duration_ns FROM "
                                        "delay x WHERE x.delayed = 1 AND x.bundle IN (" +
                                        id_list(numbers) + ") AND " + numbered.condition("x")));
            for (;;) {
                TRY_ASSIGN(const bool more, delays->next());
                if (!more) break;
                Seen& bundle = seen[delays->natural(0)];
                if (++bundle.delays > 1 && delays->natural(3) <= bundle.longest_ns) continue;
                bundle.event = delays->small(1);
                bundle.process = delays->small(2);
                bundle.longest_ns = delays->natural(3);
            }
        }
        for (const BundleRow& row : rows) {
            const auto found = seen.find(static_cast<std::uint64_t>(row.number));
            if (found == seen.end()) continue;
            BundleRow& limited = kept.emplace_back(row);
            limited.facts.delays = found->second.delays;
            limited.facts.longest_delay_ns = found->second.longest_ns;
            TRY_ASSIGN(limited.facts.event,
                       session_->labels().text_of(connection, found->second.event));
            TRY_ASSIGN(limited.facts.process,
                       session_->labels().text_of(connection, found->second.process));
        }
        rows = std::move(kept);
        return success();
    });
}

}  // namespace lagtrap::server
