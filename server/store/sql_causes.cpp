#include <algorithm>
#include <map>
#include <set>

#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t counts_limit = 1000;
constexpr std::uint32_t sightings_limit = 200;
constexpr std::uint32_t parts_limit = 1000;
constexpr std::size_t min_common_delays = 3;

// A row of an event's causes, as far as note_causes() needs it.
struct KnownCause {
    std::uint64_t id = 0, root = 0;
    CauseStatus status = CauseStatus::New;
    std::uint64_t resolved_ns = 0;
    std::string resolved_build;
};
using KnownCauses = std::map<std::string, KnownCause>;  // by signature

// A delay with numbers for its names.
struct NumberedSighting {
    std::uint64_t bundle = 0;
    std::uint32_t number = 0, host = 0, build = 0;
    std::uint64_t begin_ns = 0, excess_ns = 0;
    std::string build_id;
};

Result<KnownCauses> read_known(Connection& connection, std::uint32_t event) {
    KnownCauses known;
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT signature, id, root, status, resolved_ns, resolved_build FROM cause"
                                " WHERE event = $1",
                                {event}));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return known;
        known[rows->text(0)] = {rows->natural(1), rows->natural(2), static_cast<CauseStatus>(rows->integer(3)),
                                rows->natural(4), rows->text(5)};
    }
}

Result<std::vector<NumberedSighting>> number_sightings(Connection& connection, const SightedCause& cause,
                                                       const std::map<LabelName, std::uint32_t>& labels,
                                                       std::map<std::string, std::uint64_t>& bundles) {
    std::vector<NumberedSighting> numbered;
    for (const CauseSighting& sighting : cause.delays) {
        if (!bundles.contains(sighting.bundle)) {
            TRY_ASSIGN(const auto number,
                       connection.number("SELECT number FROM bundle WHERE digest = $1", {sighting.bundle}));
            bundles[sighting.bundle] = static_cast<std::uint64_t>(number.value_or(0));
        }
        if (bundles[sighting.bundle] == 0) continue;
        numbered.push_back({bundles[sighting.bundle], sighting.delay,
                            labels.at({LabelKind::Host, stored_text(sighting.host)}),
                            labels.at({LabelKind::Build, stored_text(sighting.build)}), sighting.begin_realtime_ns,
                            sighting.excess_ns, stored_text(sighting.build)});
    }
    return numbered;
}

// The cause that already has most of these delays, if it was not `found` this time.
Result<std::uint64_t> same_under_another_name(Connection& connection, const std::vector<NumberedSighting>& sightings,
                                              const KnownCauses& known, const std::set<std::string>& found) {
    std::set<std::uint64_t> found_roots;
    for (const auto& [signature, cause] : known)
        if (found.contains(signature)) found_roots.insert(cause.root);
    std::map<std::uint64_t, std::uint64_t> gone;  // causes of which no part was found, and their roots
    for (const auto& [signature, cause] : known)
        if (!found_roots.contains(cause.root)) gone[cause.id] = cause.root;
    if (gone.empty() || sightings.size() < min_common_delays) return std::uint64_t{0};
    std::map<std::uint64_t, std::size_t> common;
    for (const NumberedSighting& sighting : sightings) {
        TRY_ASSIGN(const auto rows, connection.query("SELECT cause FROM cause_delay WHERE bundle = $1 AND number = $2",
                                                     {sighting.bundle, sighting.number}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            if (const auto other = gone.find(rows->natural(0)); other != gone.end()) ++common[other->second];
        }
    }
    for (const auto& [root, count] : common)
        if (count >= min_common_delays && count * 5 >= sightings.size() * 4) return root;
    return std::uint64_t{0};
}

// When each build of an event was first seen, in runs or delays.
Result<std::map<std::string, std::uint64_t>> first_seen(Connection& connection, std::uint32_t event) {
    std::map<std::string, std::uint64_t> builds;
    for (const char* sql : {"SELECT l.text, s.first_ns FROM seen s JOIN label l ON l.id = s.label"
                            " WHERE s.event = $1 AND s.kind = 4",
                            "SELECT l.text, min(x.begin_ns) FROM delay x JOIN label l ON l.id = x.build"
                            " WHERE x.event = $1 GROUP BY l.text"}) {
        TRY_ASSIGN(const auto rows, connection.query(sql, {event}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            const auto [place, added] = builds.emplace(rows->text(0), rows->natural(1));
            if (!added) place->second = std::min(place->second, rows->natural(1));
        }
    }
    return builds;
}

// Whether any of the delays is later than the cause's resolution and in a build that should have
// the fix.
Result<bool> came_back(Connection& connection, std::uint32_t event, const KnownCause& cause,
                       const std::vector<NumberedSighting>& sightings) {
    std::map<std::string, std::uint64_t> builds;
    if (!cause.resolved_build.empty()) {
        TRY_ASSIGN(builds, first_seen(connection, event));
    }
    const auto remedy = builds.find(cause.resolved_build);
    const std::uint64_t remedy_ns = remedy == builds.end() ? cause.resolved_ns : remedy->second;
    return std::any_of(sightings.begin(), sightings.end(), [&](const NumberedSighting& sighting) {
        if (sighting.begin_ns <= cause.resolved_ns) return false;
        if (cause.resolved_build.empty() || sighting.build_id == cause.resolved_build) return true;
        const auto build = builds.find(sighting.build_id);
        return build != builds.end() && build->second > remedy_ns;
    });
}

Result<KnownCause> insert_cause(Connection& connection, std::uint32_t event, const SightedCause& cause,
                                std::uint64_t root, std::uint64_t now_ns) {
    const std::string title = stored_text(cause.title), state = stored_text(cause.state),
                      reason = stored_text(cause.reason);
    TRY_ASSIGN(
        const auto id,
        connection.number("INSERT INTO cause(root, event, signature, title, state, reason, frames, first_ns,"
                          " last_ns, noticed_ns, status, resolved_ns, resolved_build, regressed_ns, owner, note,"
                          " link, author, changed_ns) VALUES($1,$2,$3,$4,$5,$6,$7,$8,0,$9,0,0,'',0,'','','','',0)"
                          " RETURNING id",
                          {root, event, cause.signature, title, state, reason, cause.frames, INT64_MAX, now_ns}));
    KnownCause known;
    known.id = static_cast<std::uint64_t>(id.value_or(0));
    known.root = root == 0 ? known.id : root;
    if (root == 0) TRY(connection.execute("UPDATE cause SET root = id WHERE id = $1", {known.id}));
    return known;
}

Status keep_sightings(Connection& connection, const KnownCause& known, const SightedCause& cause,
                      const std::vector<NumberedSighting>& sightings) {
    std::uint64_t first_ns = INT64_MAX, last_ns = 0;
    for (const NumberedSighting& sighting : sightings) {
        first_ns = std::min(first_ns, sighting.begin_ns);
        last_ns = std::max(last_ns, sighting.begin_ns);
        TRY(
            connection.execute("INSERT INTO cause_delay(cause, bundle, number, host, build, begin_ns, excess_ns)"
                               " VALUES($1,$2,$3,$4,$5,$6,$7) ON CONFLICT(cause, bundle, number) DO UPDATE SET"
                               " excess_ns = excluded.excess_ns",
                               {known.id, sighting.bundle, sighting.number, sighting.host, sighting.build,
                                sighting.begin_ns, sighting.excess_ns}));
    }
    const std::string title = stored_text(cause.title);
    TRY(
        connection.execute("UPDATE cause SET title = $2, frames = $3,"
                           " first_ns = CASE WHEN first_ns < $4 THEN first_ns ELSE $4 END,"
                           " last_ns = CASE WHEN last_ns > $5 THEN last_ns ELSE $5 END WHERE id = $1",
                           {known.id, title, cause.frames, first_ns, last_ns}));
    return success();
}

// Restricts the delays `d` of causes `c` to visible ones.
std::string seen_delays(const NumberedSight* sight) {
    if (sight == nullptr) return {};
    return " AND (c.event IN (" + id_list(sight->events) +
           ") OR EXISTS (SELECT 1 FROM delay x WHERE x.bundle = d.bundle AND x.number = d.number AND x.delayed = 1"
           " AND x.unit IN (" +
           id_list(sight->units) + ")))";
}

KnownCause* find_root(KnownCauses& known, std::uint64_t root) {
    for (auto& [signature, cause] : known)
        if (cause.id == root) return &cause;
    return nullptr;
}

}  // namespace

Result<std::vector<CauseNews>> SqlStore::note_causes(const std::string& event, const std::vector<SightedCause>& causes,
                                                     std::uint64_t now_realtime_ns) {
    std::vector<CauseNews> news;
    if (causes.empty()) return news;
    std::map<LabelName, std::uint32_t> labels{{{LabelKind::Event, stored_text(event)}, 0}};
    std::set<std::string> found;
    for (const SightedCause& cause : causes) {
        found.insert(cause.signature);
        for (const CauseSighting& sighting : cause.delays) {
            labels[{LabelKind::Host, stored_text(sighting.host)}] = 0;
            labels[{LabelKind::Build, stored_text(sighting.build)}] = 0;
        }
    }
    TRY(labels_.resolve(labels, {}, now_realtime_ns / day_ns));
    const std::uint32_t event_number = labels.at({LabelKind::Event, stored_text(event)});
    const Status written = database_->write([&](Connection& connection) -> Status {
        news.clear();
        TRY_ASSIGN(KnownCauses known, read_known(connection, event_number));
        std::map<std::string, std::uint64_t> bundles;
        for (const SightedCause& cause : causes) {
            TRY_ASSIGN(const auto sightings, number_sightings(connection, cause, labels, bundles));
            if (sightings.empty()) continue;
            auto place = known.find(cause.signature);
            if (place == known.end()) {
                TRY_ASSIGN(const std::uint64_t root, same_under_another_name(connection, sightings, known, found));
                TRY_ASSIGN(const KnownCause added,
                           insert_cause(connection, event_number, cause, root, now_realtime_ns));
                place = known.emplace(cause.signature, added).first;
                if (root == 0) news.push_back({added.id, CauseStatus::New});
            }
            TRY(keep_sightings(connection, place->second, cause, sightings));
            KnownCause* root = find_root(known, place->second.root);
            if (root == nullptr || root->status != CauseStatus::Resolved) continue;
            TRY_ASSIGN(const bool regressed, came_back(connection, event_number, *root, sightings));
            if (!regressed) continue;
            root->status = CauseStatus::Regressed;
            TRY(connection.execute("UPDATE cause SET status = $2, regressed_ns = $3 WHERE id = $1",
                                   {root->id, CauseStatus::Regressed, now_realtime_ns}));
            news.push_back({root->id, CauseStatus::Regressed});
        }
        return success();
    });
    if (!written) return written.error();
    return news;
}

Result<std::vector<CauseRecord>> SqlStore::select_causes(Connection& connection, Where where, std::uint32_t limit,
                                                         const NumberedSight* sight) {
    std::vector<CauseRecord> found;
    const std::string seen = seen_delays(sight);
    if (sight != nullptr) where.add("EXISTS (SELECT 1 FROM cause_delay d WHERE d.cause = c.id" + seen + ")");
    TRY_ASSIGN(
        const auto rows,
        connection.query("SELECT c.id, c.root, c.event, c.signature, c.title, c.state, c.reason, c.frames, c.first_ns,"
                         " c.last_ns, c.noticed_ns, c.status, c.resolved_ns, c.resolved_build, c.regressed_ns, c.owner,"
                         " c.note, c.link, c.author, c.changed_ns,"
                         " (SELECT count(*) FROM cause_delay d WHERE d.cause = c.id" +
                             seen +
                             "),"
                             " (SELECT count(DISTINCT d.host) FROM cause_delay d WHERE d.cause = c.id" +
                             seen + ") FROM cause c" + where.sql() + " ORDER BY c.noticed_ns DESC, c.id DESC LIMIT " +
                             std::to_string(limit),
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
        cause.delays = rows->natural(20);
        cause.hosts = rows->natural(21);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        TRY_ASSIGN(found[i].event, labels_.text_of(connection, events[i]));
    }
    return found;
}

Result<std::vector<CauseRecord>> SqlStore::causes(const std::optional<std::string>& event, std::uint32_t limit) {
    std::vector<CauseRecord> found;
    Filter filter;
    filter.event = event;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        Where where;
        if (numbered.event) where.add("c.event = ?", *numbered.event);
        TRY_ASSIGN(found, select_causes(connection, where, limit, nullptr));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::vector<CauseTotal>> SqlStore::cause_totals(std::uint32_t limit) {
    std::vector<CauseTotal> totals;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        totals.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT l.text, c.status, count(*) FROM cause c JOIN label l ON l.id = c.event"
                                    " WHERE c.root = c.id GROUP BY l.text, c.status ORDER BY l.text, c.status LIMIT " +
                                    std::to_string(limit)));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            totals.push_back({rows->text(0), static_cast<CauseStatus>(rows->integer(1)), rows->natural(2)});
        }
    });
    if (!looked) return looked.error();
    return totals;
}

Status SqlStore::read_sightings(Connection& connection, CauseLife& life, const NumberedSight* sight) {
    // A delay counts once, even if several parts have it.
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT d.bundle, d.number, max(d.host), max(d.build), max(d.begin_ns),"
                                " max(d.excess_ns), max(b.digest) FROM cause_delay d"
                                " JOIN cause c ON c.id = d.cause LEFT JOIN bundle b ON b.number = d.bundle"
                                " WHERE c.root = $1" +
                                    seen_delays(sight) + " GROUP BY d.bundle, d.number ORDER BY 5 DESC, 1, 2",
                                {life.cause.root}));
    std::map<std::uint32_t, CauseCount> hosts, builds;
    std::map<std::uint64_t, std::uint64_t> days;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> names;
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) break;
        ++life.delays;
        const std::uint64_t begin_ns = rows->natural(4);
        ++days[begin_ns / day_ns];
        for (CauseCount* count : {&hosts[rows->small(2)], &builds[rows->small(3)]}) {
            if (++count->delays == 1) count->last_realtime_ns = begin_ns;
            count->first_realtime_ns = begin_ns;
        }
        if (life.sightings.size() == sightings_limit) continue;
        life.sightings.push_back({rows->text(6), rows->small(1), {}, {}, begin_ns, rows->natural(5)});
        names.emplace_back(rows->small(2), rows->small(3));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        TRY_ASSIGN(life.sightings[i].host, labels_.text_of(connection, names[i].first));
        TRY_ASSIGN(life.sightings[i].build, labels_.text_of(connection, names[i].second));
    }
    for (const auto& [day, delays] : days) life.days.push_back({day * day_ns, delays});
    for (auto [counts, list] : {std::pair(&hosts, &life.hosts), std::pair(&builds, &life.builds)})
        for (auto& [label, count] : *counts) {
            TRY_ASSIGN(count.name, labels_.text_of(connection, label));
            list->push_back(count);
        }
    std::stable_sort(life.hosts.begin(), life.hosts.end(),
                     [](const CauseCount& a, const CauseCount& b) { return a.delays > b.delays; });
    std::stable_sort(life.builds.begin(), life.builds.end(), [](const CauseCount& a, const CauseCount& b) {
        return a.first_realtime_ns > b.first_realtime_ns;
    });
    for (auto* list : {&life.hosts, &life.builds})
        if (list->size() > counts_limit) list->resize(counts_limit);
    return success();
}

Result<std::optional<CauseLife>> SqlStore::read_life(Connection& connection, std::uint64_t id,
                                                     const NumberedSight* sight) {
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

Result<SearchedDelays> SqlStore::searched_delays(const Filter& filter) {
    if (!filter.event) return make_error(ErrorKind::Invalid, "this question needs an event");
    SearchedDelays searched;
    const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
        searched = {};
        Where where;
        add_delay_conditions(where, numbered);
        where.add("x.delayed = 1");
        where.add("length(x.profile) > 0");
        TRY_ASSIGN(const auto counted, connection.query("SELECT count(*) FROM delay x" + where.sql(), where.values()));
        TRY(counted->next());
        searched.delays = counted->natural(0);
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT c.root, count(*) FROM delay x"
                                    " JOIN cause_delay d ON d.bundle = x.bundle AND d.number = x.number"
                                    " JOIN cause c ON c.id = d.cause" +
                                        where.sql() + " GROUP BY c.root",
                                    where.values()));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            searched.of_cause[rows->natural(0)] = rows->natural(1);
        }
    });
    if (!looked) return looked.error();
    return searched;
}

Result<std::optional<CauseLife>> SqlStore::find_cause(std::uint64_t id) {
    std::optional<CauseLife> found;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(found, read_life(connection, id, nullptr));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<bool> SqlStore::change_cause(std::uint64_t id, const CauseChange& change) {
    if (id > INT64_MAX) return false;
    bool there = false;
    const std::string by = stored_text(change.by), build = stored_text(change.resolved_build);
    const Status written = database_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto event, connection.number("SELECT event FROM cause WHERE id = $1", {id}));
        there = event.has_value();
        if (!there) return success();
        if (change.root) {
            const std::uint64_t wanted = *change.root == 0 ? id : *change.root;
            TRY_ASSIGN(const auto root, connection.number("SELECT root FROM cause WHERE id = $1 AND event = $2",
                                                          {std::min<std::uint64_t>(wanted, INT64_MAX), *event}));
            if (!root)
                return make_error(ErrorKind::Invalid, "there is no such cause of this event to make it a part of");
            if (wanted == id) {
                TRY(connection.execute("UPDATE cause SET root = id WHERE id = $1", {id}));
            } else if (static_cast<std::uint64_t>(*root) != id) {
                // Its parts move with it, because parts cannot have parts.
                TRY(connection.execute("UPDATE cause SET root = $2 WHERE id = $1 OR root = $1", {id, *root}));
            }
        }
        if (change.status) {
            const bool resolved = *change.status == CauseStatus::Resolved;
            TRY(connection.execute("UPDATE cause SET status = $2, resolved_ns = $3, resolved_build = $4 WHERE id = $1",
                                   {id, *change.status, resolved ? change.at_realtime_ns : 0,
                                    resolved ? std::string_view(build) : std::string_view()}));
        }
        for (const auto& [column, value] :
             {std::pair("owner", &change.owner), std::pair("note", &change.note), std::pair("link", &change.link)})
            if (*value)
                TRY(connection.execute("UPDATE cause SET " + std::string(column) + " = $2 WHERE id = $1",
                                       {id, **value}));
        TRY(connection.execute("UPDATE cause SET author = $2, changed_ns = $3 WHERE id = $1",
                               {id, by, change.at_realtime_ns}));
        return success();
    });
    if (!written) return written.error();
    return there;
}

}  // namespace lagtrap::server
