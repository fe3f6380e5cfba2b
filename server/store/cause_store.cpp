#include "server/store/cause_store.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t counts_limit = 1000;

constexpr std::uint32_t sightings_limit = 200;

constexpr std::uint32_t parts_limit = 1000;

// Restricts the delays `d` of causes `c` to visible ones.
std::string seen_delays(const NumberedSight* sight) {
    if (sight == nullptr) return {};
    return " AND (c.event IN (" + id_list(sight->events) +
           ") OR EXISTS (SELECT 1 FROM delay x WHERE x.bundle = d.bundle AND x.number = d.number "
           "AND x.delayed = 1 AND x.unit IN (" +
           id_list(sight->units) + ")))";
}

// For LIKE with "ESCAPE '!'".
std::string contains_pattern(const std::string& text) {
    std::string pattern = "%";
    for (const char letter : text) {
        if (letter == '%' || letter == '_' || letter == '!') pattern += '!';
        pattern += letter;
    }
    return pattern + "%";
}

Error no_such_root() {
    return make_error(ErrorKind::Invalid,
                      "there is no such cause of this event to make it a part of");
}

}  // namespace

Result<std::optional<NumberedSight>> CauseStore::numbered_sight(Connection& connection) const {
    if (visibility_.sees_everything()) return std::optional<NumberedSight>();
    TRY_ASSIGN(auto numbered, number_sight(connection, *visibility_.sight()));
    return std::optional(std::move(numbered));
}

Result<bool> CauseStore::is_visible(std::uint64_t id) const {
    if (visibility_.sees_everything()) return true;
    TRY_ASSIGN(const auto found, find_cause(id));
    return found.has_value();
}

Result<std::vector<CauseRecord>> CauseStore::select_causes(Connection& connection, Where where,
                                                           std::uint32_t limit,
                                                           const NumberedSight* sight) const {
    std::vector<CauseRecord> found;
    const std::string seen = seen_delays(sight);
    if (sight != nullptr)
        where.add("EXISTS (SELECT 1 FROM cause_delay d WHERE d.cause = c.id" + seen + ")");
    TRY_ASSIGN(const auto rows,
               connection.query(
                   "SELECT c.id, c.root, c.event, c.signature, c.title, c.state, c.reason, "
                   "c.frames, c.first_ns,"
                   " c.last_ns, c.noticed_ns, c.status, c.resolved_ns, c.resolved_build, "
                   "c.regressed_ns, c.owner,"
                   " c.note, c.link, c.author, c.changed_ns, c.holder,"
                   " (SELECT count(*) FROM cause_delay d WHERE d.cause = c.id" +
                       seen +
                       "),"
                       " (SELECT count(DISTINCT d.host) FROM cause_delay d WHERE d.cause = c.id" +
                       seen + ") FROM cause c" + where.sql() +
                       " ORDER BY c.noticed_ns DESC, c.id DESC LIMIT " + std::to_string(limit),
                   where.values()));
    std::vector<std::uint32_t> events;
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) break;
        CauseRecord& cause = found.emplace_back();
        cause.id = rows->natural(0);
        cause.root = rows->natural(1);
        events.push_back(rows->small(2));
        cause.signature = rows->text(3);
        cause.title = rows->text(4);
        cause.state = rows->text(5);
        cause.reason = rows->text(6);
        cause.frames = rows->text(7);
        cause.first_realtime_ns = rows->natural(8);
        cause.last_realtime_ns = rows->natural(9);
        cause.noticed_realtime_ns = rows->natural(10);
        cause.status = static_cast<CauseStatus>(rows->integer(11));
        cause.resolved_realtime_ns = rows->natural(12);
        cause.resolved_build = rows->text(13);
        cause.regressed_realtime_ns = rows->natural(14);
        cause.owner = rows->text(15);
        cause.note = rows->text(16);
        cause.link = rows->text(17);
        cause.changed_by = rows->text(18);
        cause.changed_realtime_ns = rows->natural(19);
        cause.holder = rows->text(20);
        cause.delays = rows->natural(21);
        cause.hosts = rows->natural(22);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        TRY_ASSIGN(found[i].event, session_->labels().text_of(connection, events[i]));
    }
    return found;
}

Result<std::vector<CauseRecord>> CauseStore::list(const std::optional<std::string>& event,
                                                  std::uint32_t limit) const {
    std::vector<CauseRecord> found;
    Filter filter;
    filter.event = event;
    const Status looked = session_->read_filtered(
        filter, Visibility::everything(),
        [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            Where where;
            if (numbered.event) where.add("c.event = ?", *numbered.event);
            TRY_ASSIGN(const auto sight, numbered_sight(connection));
            TRY_ASSIGN(found, select_causes(connection, where, limit, sight ? &*sight : nullptr));
            return success();
        });
    if (!looked) return looked.error();
    return found;
}

Result<std::vector<CauseRecord>> CauseStore::search(const std::vector<std::string>& words,
                                                    std::uint32_t limit) const {
    std::vector<CauseRecord> found;
    std::vector<std::string> patterns;
    for (const std::string& word : words) patterns.push_back(contains_pattern(word));
    const Status looked = session_->read([&](Connection& connection) -> Status {
        Where where;
        for (const std::string& pattern : patterns)
            where.add(
                "lower(c.title || ' ' || c.reason || ' ' || c.owner || ' ' || c.frames || ' ' || "
                "(SELECT l.text FROM label l WHERE l.id = c.event)) LIKE ? ESCAPE '!'",
                pattern);
        TRY_ASSIGN(const auto sight, numbered_sight(connection));
        TRY_ASSIGN(found, select_causes(connection, where, limit, sight ? &*sight : nullptr));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::vector<CauseTotal>> CauseStore::cause_totals(std::uint32_t limit) const {
    std::vector<CauseTotal> totals;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        totals.clear();
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT l.text, c.status, count(*) FROM cause c JOIN label l ON l.id = c.event "
                "WHERE c.root = c.id GROUP BY l.text, c.status ORDER BY l.text, c.status LIMIT " +
                std::to_string(limit)));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            totals.push_back(
                {rows->text(0), static_cast<CauseStatus>(rows->integer(1)), rows->natural(2)});
        }
    });
    if (!looked) return looked.error();
    std::erase_if(totals,
                  [&](const CauseTotal& total) { return !visibility_.sees(total.event, {}); });
    return totals;
}

Result<std::vector<CauseCost>> CauseStore::costs(const std::optional<std::string>& event,
                                                 std::uint64_t from_ns, std::uint64_t to_ns,
                                                 std::uint32_t limit) const {
    std::vector<CauseCost> costs;
    Filter filter;
    filter.event = event;
    const Status looked = session_->read_filtered(
        filter, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            costs.clear();
            Where where;
            where.add("d.begin_ns >= ?", std::min<std::uint64_t>(from_ns, INT64_MAX));
            where.add("d.begin_ns < ?", std::min<std::uint64_t>(to_ns, INT64_MAX));
            if (numbered.event) where.add("c.event = ?", *numbered.event);
            if (numbered.sight) where.add("c.event IN (" + id_list(numbered.sight->events) + ")");
            // A delay counts once, even if several parts have it.
            TRY_ASSIGN(
                const auto rows,
                connection.query(
                    "SELECT r.id, r.event, r.title, count(*), CAST(sum(t.excess) AS BIGINT) FROM "
                    "(SELECT c.root AS root, max(d.excess_ns) AS excess FROM cause_delay d JOIN "
                    "cause c ON c.id = d.cause" +
                        where.sql() +
                        " GROUP BY c.root, d.bundle, d.number) t JOIN cause r ON r.id = t.root "
                        "GROUP BY r.id, r.event, r.title ORDER BY 5 DESC, r.id LIMIT " +
                        std::to_string(limit),
                    where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) return success();
                CauseCost& cost = costs.emplace_back();
                cost.cause = rows->natural(0);
                cost.title = rows->text(2);
                cost.delays = rows->natural(3);
                cost.excess_ns = rows->natural(4);
                TRY_ASSIGN(cost.event, session_->labels().text_of(connection, rows->small(1)));
            }
        });
    if (!looked) return looked.error();
    return costs;
}

Status CauseStore::read_sightings(Connection& connection, CauseLife& life,
                                  const NumberedSight* sight) const {
    // A delay counts once, even if several parts have it.
    TRY_ASSIGN(
        const auto rows,
        connection.query(
            "SELECT d.bundle, d.number, max(d.host), max(d.build), max(d.begin_ns),"
            " max(d.excess_ns), max(b.digest), max(d.holder) FROM cause_delay d JOIN cause c ON "
            "c.id = d.cause LEFT JOIN bundle b ON b.number = d.bundle WHERE c.root = $1" +
                seen_delays(sight) + " GROUP BY d.bundle, d.number ORDER BY 5 DESC, 1, 2",
            {life.cause.root}));
    std::map<std::uint32_t, CauseCount> hosts, builds, holders;
    std::map<std::uint64_t, std::uint64_t> days;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> names;
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) break;
        ++life.delays;
        const std::uint64_t begin_ns = rows->natural(4);
        ++days[begin_ns / day_ns];
        const std::uint32_t holder = rows->small(7);
        for (CauseCount* count : {&hosts[rows->small(2)], &builds[rows->small(3)],
                                  holder == 0 ? nullptr : &holders[holder]}) {
            if (count == nullptr) continue;
            if (++count->delays == 1) count->last_realtime_ns = begin_ns;
            count->first_realtime_ns = begin_ns;
        }
        if (life.sightings.size() == sightings_limit) continue;
        life.sightings.push_back(
            {rows->text(6), rows->small(1), {}, {}, begin_ns, rows->natural(5), {}});
        names.emplace_back(rows->small(2), rows->small(3));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        TRY_ASSIGN(life.sightings[i].host, session_->labels().text_of(connection, names[i].first));
        TRY_ASSIGN(life.sightings[i].build,
                   session_->labels().text_of(connection, names[i].second));
    }
    for (const auto& [day, delays] : days) life.days.push_back({day * day_ns, delays});
    for (auto [counts, list] : {std::pair(&hosts, &life.hosts), std::pair(&builds, &life.builds),
                                std::pair(&holders, &life.holders)})
        for (auto& [label, count] : *counts) {
            TRY_ASSIGN(count.name, session_->labels().text_of(connection, label));
            list->push_back(count);
        }
    for (auto* list : {&life.hosts, &life.holders})
        std::stable_sort(list->begin(), list->end(), [](const CauseCount& a, const CauseCount& b) {
            return a.delays > b.delays;
        });
    std::stable_sort(life.builds.begin(), life.builds.end(),
                     [](const CauseCount& a, const CauseCount& b) {
                         return a.first_realtime_ns > b.first_realtime_ns;
                     });
    for (auto* list : {&life.hosts, &life.builds, &life.holders})
        if (list->size() > counts_limit) list->resize(counts_limit);
    return success();
}

Result<std::optional<CauseLife>> CauseStore::read_life(Connection& connection, std::uint64_t id,
                                                       const NumberedSight* sight) const {
    if (id > INT64_MAX) return std::optional<CauseLife>();
    Where of_id;
    of_id.add("c.id = ?", id);
    TRY_ASSIGN(auto one, select_causes(connection, of_id, 1, sight));
    if (one.empty()) return std::optional<CauseLife>();
    CauseLife life;
    life.cause = std::move(one.front());
    Where of_root;
    of_root.add("c.root = ?", life.cause.root);
    TRY_ASSIGN(life.parts, select_causes(connection, of_root, parts_limit, sight));
    std::erase_if(life.parts, [&](const CauseRecord& part) { return part.id == life.cause.id; });
    TRY(read_sightings(connection, life, sight));
    return std::optional(std::move(life));
}

Result<std::optional<CauseLife>> CauseStore::find_cause(std::uint64_t id) const {
    std::optional<CauseLife> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto sight, numbered_sight(connection));
        TRY_ASSIGN(found, read_life(connection, id, sight ? &*sight : nullptr));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<bool> CauseStore::change_cause(std::uint64_t id, const CauseChange& change) const {
    if (id > INT64_MAX) return false;
    TRY_ASSIGN(const bool visible, is_visible(id));
    if (!visible) return false;
    if (change.root && *change.root != 0) {
        TRY_ASSIGN(const bool root_visible, is_visible(*change.root));
        if (!root_visible) return no_such_root();
    }
    bool there = false;
    const std::string by = stored_text(change.by), build = stored_text(change.resolved_build);
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto event,
                   connection.number("SELECT event FROM cause WHERE id = $1", {id}));
        there = event.has_value();
        if (!there) return success();
        if (change.root) {
            const std::uint64_t wanted = *change.root == 0 ? id : *change.root;
            TRY_ASSIGN(const auto root,
                       connection.number("SELECT root FROM cause WHERE id = $1 AND event = $2",
                                         {std::min<std::uint64_t>(wanted, INT64_MAX), *event}));
            if (!root) return no_such_root();
            if (wanted == id) {
                TRY(connection.execute("UPDATE cause SET root = id WHERE id = $1", {id}));
            } else if (static_cast<std::uint64_t>(*root) != id) {
                // Its parts move with it, because parts cannot have parts.
                TRY(connection.execute("UPDATE cause SET root = $2 WHERE id = $1 OR root = $1",
                                       {id, *root}));
            }
        }
        if (change.status) {
            const bool resolved = *change.status == CauseStatus::Resolved;
            TRY(connection.execute(
                "UPDATE cause SET status = $2, resolved_ns = $3, resolved_build = $4 WHERE id = $1",
                {id, *change.status, resolved ? change.at_realtime_ns : 0,
                 resolved ? std::string_view(build) : std::string_view()}));
        }
        for (const auto& [column, value] :
             {std::pair("owner", &change.owner), std::pair("note", &change.note),
              std::pair("link", &change.link)})
            if (*value)
                TRY(connection.execute(
                    "UPDATE cause SET " + std::string(column) + " = $2 WHERE id = $1",
                    {id, **value}));
        TRY(connection.execute("UPDATE cause SET author = $2, changed_ns = $3 WHERE id = $1",
                               {id, by, change.at_realtime_ns}));
        return success();
    });
    if (!written) return written.error();
    return there;
}

}  // namespace lagtrap::server
