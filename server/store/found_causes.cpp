#include "server/store/found_causes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

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
    std::uint32_t holder = 0;  // label; 0 if there is none
    std::string build_id;
};

Result<KnownCauses> read_known(Connection& connection, std::uint32_t event) {
    KnownCauses known;
    TRY_ASSIGN(const auto rows, connection.query("SELECT signature, id, root, status, resolved_ns, "
                                                 "resolved_build FROM cause WHERE event = $1",
                                                 {event}));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return known;
        known[rows->text(0)] = {rows->natural(1), rows->natural(2),
                                static_cast<CauseStatus>(rows->integer(3)), rows->natural(4),
                                rows->text(5)};
    }
}

Result<std::vector<NumberedSighting>> number_sightings(
    Connection& connection, const SightedCause& cause,
    const std::map<LabelName, std::uint32_t>& labels,
    std::map<std::string, std::uint64_t>& bundles) {
    std::vector<NumberedSighting> numbered;
    for (const CauseSighting& sighting : cause.delays) {
        if (!bundles.contains(sighting.bundle)) {
            TRY_ASSIGN(const auto number,
                       connection.number("SELECT number FROM bundle WHERE digest = $1",
                                         {sighting.bundle}));
            bundles[sighting.bundle] = static_cast<std::uint64_t>(number.value_or(0));
        }
        if (bundles[sighting.bundle] == 0) continue;
        const std::string holder = stored_text(sighting.holder);
        numbered.push_back({bundles[sighting.bundle], sighting.delay,
                            labels.at({LabelKind::Host, stored_text(sighting.host)}),
                            labels.at({LabelKind::Build, stored_text(sighting.build)}),
                            sighting.begin_realtime_ns, sighting.excess_ns,
                            holder.empty() ? 0 : labels.at({LabelKind::Thread, holder}),
                            stored_text(sighting.build)});
    }
    return numbered;
}

// The cause that already has most of these delays, if it was not `found` this time.
Result<std::uint64_t> same_under_another_name(Connection& connection,
                                              const std::vector<NumberedSighting>& sightings,
                                              const KnownCauses& known,
                                              const std::set<std::string>& found) {
    std::set<std::uint64_t> found_roots;
    for (const auto& [signature, cause] : known)
        if (found.contains(signature)) found_roots.insert(cause.root);
    // causes of which no part was found, and their roots
    std::map<std::uint64_t, std::uint64_t> gone;
    for (const auto& [signature, cause] : known)
        if (!found_roots.contains(cause.root)) gone[cause.id] = cause.root;
    if (gone.empty() || sightings.size() < min_common_delays) return std::uint64_t{0};
    std::map<std::uint64_t, std::size_t> common;
    for (const NumberedSighting& sighting : sightings) {
        TRY_ASSIGN(
            const auto rows,
            connection.query("SELECT cause FROM cause_delay WHERE bundle = $1 AND number = $2",
                             {sighting.bundle, sighting.number}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) break;
            if (const auto other = gone.find(rows->natural(0)); other != gone.end())
                ++common[other->second];
        }
    }
    for (const auto& [root, count] : common)
        if (count >= min_common_delays && count * 5 >= sightings.size() * 4) return root;
    return std::uint64_t{0};
}

// When each build of an event was first seen, in runs or delays.
Result<std::map<std::string, std::uint64_t>> first_seen(Connection& connection,
                                                        std::uint32_t event) {
    std::map<std::string, std::uint64_t> builds;
    for (const char* sql : {"SELECT l.text, s.first_ns FROM seen s JOIN label l ON l.id = s.label "
                            "WHERE s.event = $1 AND s.kind = 4",
                            "SELECT l.text, min(x.begin_ns) FROM delay x JOIN label l ON l.id = "
                            "x.build WHERE x.event = $1 GROUP BY l.text"}) {
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

Result<KnownCause> insert_cause(Connection& connection, std::uint32_t event,
                                const SightedCause& cause, std::uint64_t root,
                                std::uint64_t now_ns) {
    const std::string title = stored_text(cause.title), state = stored_text(cause.state),
                      reason = stored_text(cause.reason);
    TRY_ASSIGN(
        const auto id,
        connection.number(
            "INSERT INTO cause(root, event, signature, title, state, reason, frames, first_ns,"
            " last_ns, noticed_ns, status, resolved_ns, resolved_build, regressed_ns, owner, note,"
            " link, author, changed_ns) "
            "VALUES($1,$2,$3,$4,$5,$6,$7,$8,0,$9,0,0,'',0,'','','','',0) RETURNING id",
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
        TRY(connection.execute(
            "INSERT INTO cause_delay(cause, bundle, number, host, build, begin_ns, excess_ns, "
            "holder) VALUES($1,$2,$3,$4,$5,$6,$7,$8) ON CONFLICT(cause, bundle, number) DO UPDATE "
            "SET excess_ns = excluded.excess_ns, holder = excluded.holder",
            {known.id, sighting.bundle, sighting.number, sighting.host, sighting.build,
             sighting.begin_ns, sighting.excess_ns, sighting.holder}));
    }
    const std::string title = stored_text(cause.title), holder = stored_text(cause.holder);
    TRY(connection.execute(
        "UPDATE cause SET title = $2, frames = $3, holder = $6,"
        " first_ns = CASE WHEN first_ns < $4 THEN first_ns ELSE $4 END,"
        " last_ns = CASE WHEN last_ns > $5 THEN last_ns ELSE $5 END WHERE id = $1",
        {known.id, title, cause.frames, first_ns, last_ns, holder}));
    return success();
}

KnownCause* find_root(KnownCauses& known, std::uint64_t root) {
    for (auto& [signature, cause] : known)
        if (cause.id == root) return &cause;
    return nullptr;
}

}  // namespace

Result<std::vector<CauseNews>> FoundCauses::note_causes(const std::string& event,
                                                        const std::vector<SightedCause>& causes,
                                                        std::uint64_t now_realtime_ns) const {
    std::vector<CauseNews> news;
    if (causes.empty()) return news;
    std::map<LabelName, std::uint32_t> labels{{{LabelKind::Event, stored_text(event)}, 0}};
    std::set<std::string> found;
    for (const SightedCause& cause : causes) {
        found.insert(cause.signature);
        for (const CauseSighting& sighting : cause.delays) {
            labels[{LabelKind::Host, stored_text(sighting.host)}] = 0;
            labels[{LabelKind::Build, stored_text(sighting.build)}] = 0;
            if (!sighting.holder.empty())
                labels[{LabelKind::Thread, stored_text(sighting.holder)}] = 0;
        }
    }
    TRY(session_->labels().resolve(labels, {}, now_realtime_ns / day_ns));
    const std::uint32_t event_number = labels.at({LabelKind::Event, stored_text(event)});
    const Status written = session_->write([&](Connection& connection) -> Status {
        news.clear();
        TRY_ASSIGN(KnownCauses known, read_known(connection, event_number));
        std::map<std::string, std::uint64_t> bundles;
        for (const SightedCause& cause : causes) {
            TRY_ASSIGN(const auto sightings, number_sightings(connection, cause, labels, bundles));
            if (sightings.empty()) continue;
            auto place = known.find(cause.signature);
            if (place == known.end()) {
                TRY_ASSIGN(const std::uint64_t root,
                           same_under_another_name(connection, sightings, known, found));
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

}  // namespace lagtrap::server
