#include "server/store/bundle_inventory.hpp"

#include <algorithm>

#include "server/store/bundle_rows.hpp"
#include "server/store/delay_links.hpp"
#include "server/store/edge_attributes.hpp"
#include "server/store/seen_names.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

BundleFacts stored_facts(const BundleFacts& facts) {
    BundleFacts stored = facts;
    for (std::string* text : {&stored.session_id, &stored.host, &stored.event, &stored.process})
        *text = stored_text(*text);
    stored.started_realtime_ns = std::min<std::uint64_t>(facts.started_realtime_ns, INT64_MAX);
    stored.longest_delay_ns = std::min<std::uint64_t>(facts.longest_delay_ns, INT64_MAX);
    return stored;
}

Status insert_delay(Connection& connection, std::uint64_t bundle, std::uint32_t host,
                    const BundleDelay& delay, const std::map<LabelName, std::uint32_t>& labels) {
    const auto label = [&](LabelKind kind, const std::string& text) {
        return labels.at({kind, stored_text(text)});
    };
    TRY(connection.execute(
        "INSERT INTO delay(bundle, number, delayed, event, begin_ns, duration_ns, threshold_ns, "
        "host, process, thread,"
        " account, build, start, pid, tid, details, profile, unit, trace_id) "
        "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19)",
        {bundle, delay.number, delay.delayed, label(LabelKind::Event, delay.event),
         std::min<std::uint64_t>(delay.begin_realtime_ns, INT64_MAX),
         std::min<std::uint64_t>(delay.duration_ns, INT64_MAX),
         std::min<std::uint64_t>(delay.threshold_ns, INT64_MAX), host,
         label(LabelKind::Process, delay.process), label(LabelKind::Thread, delay.thread),
         label(LabelKind::User, delay.user), label(LabelKind::Build, delay.build), delay.start,
         delay.pid, delay.tid, delay.details, Value::bytes(delay.profile),
         delay.unit.empty() ? 0 : label(LabelKind::Unit, delay.unit), delay.trace_id}));
    return success();
}

Status insert_edges(Connection& connection, std::uint64_t bundle, const BundleDelay& delay,
                    const std::map<LabelName, std::uint32_t>& labels) {
    const auto label = [&](LabelKind kind, const std::string& text) -> std::uint32_t {
        return text.empty() ? 0 : labels.at({kind, stored_text(text)});
    };
    for (const DelayEdge& edge : delay.edges)
        TRY(connection.execute(
            "INSERT INTO delay_edge(bundle, number, event, unit, process, thread, pid, tid, "
            "run_key, trace_id, route, delayed_route, how, place, lost_ns, attributes, "
            "delayed_attributes) "
            "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17)",
            {bundle, delay.number, label(LabelKind::Event, edge.event),
             label(LabelKind::Unit, edge.unit), label(LabelKind::Process, edge.process),
             label(LabelKind::Thread, edge.thread), edge.pid, edge.tid, std::to_string(edge.key),
             edge.trace_id, stored_text(edge.route), stored_text(edge.delayed_route),
             stored_text(edge.how), stored_text(edge.place),
             std::min<std::uint64_t>(edge.lost_ns, INT64_MAX), text_of_attributes(edge.attributes),
             text_of_attributes(edge.delayed_attributes)}));
    return success();
}

std::map<LabelName, std::uint32_t> labels_of(const BundleFacts& facts,
                                             const std::vector<BundleDelay>& delays) {
    std::map<LabelName, std::uint32_t> labels;
    labels[{LabelKind::Host, stored_text(facts.host)}] = 0;
    for (const BundleDelay& delay : delays) {
        for (const auto& [kind, text] :
             {std::pair(LabelKind::Event, &delay.event),
              std::pair(LabelKind::Process, &delay.process),
              std::pair(LabelKind::Thread, &delay.thread), std::pair(LabelKind::User, &delay.user),
              std::pair(LabelKind::Build, &delay.build), std::pair(LabelKind::Unit, &delay.unit)})
            labels[{kind, stored_text(*text)}] = 0;
        for (const DelayEdge& edge : delay.edges)
            for (const auto& [kind, text] :
                 {std::pair(LabelKind::Event, &edge.event), std::pair(LabelKind::Unit, &edge.unit),
                  std::pair(LabelKind::Process, &edge.process),
                  std::pair(LabelKind::Thread, &edge.thread)})
                if (!text->empty()) labels[{kind, stored_text(*text)}] = 0;
    }
    return labels;
}

Status check_delays(const std::vector<BundleDelay>& delays) {
    for (const BundleDelay& delay : delays) {
        if (delay.profile.size() > profile_limit_bytes ||
            delay.details.size() > profile_limit_bytes)
            return make_error(ErrorKind::TooLarge,
                              "a delay's profile or details have more than 1 MiB");
        if (delay.begin_realtime_ns / hour_ns > last_hour)
            return make_error(ErrorKind::Invalid, "a delay begins after the year 2089");
    }
    return success();
}

SeenNames seen_in(const std::vector<BundleDelay>& delays, std::uint32_t host,
                  const std::map<LabelName, std::uint32_t>& labels) {
    SeenNames seen;
    for (const BundleDelay& delay : delays) {
        if (!delay.delayed) continue;
        const auto label = [&](LabelKind kind, const std::string& text) {
            return labels.at({kind, stored_text(text)});
        };
        const std::uint32_t event = label(LabelKind::Event, delay.event);
        for (const auto& [kind, number] :
             {std::pair(LabelKind::Host, host),
              std::pair(LabelKind::Process, label(LabelKind::Process, delay.process)),
              std::pair(LabelKind::User, label(LabelKind::User, delay.user)),
              std::pair(LabelKind::Build, label(LabelKind::Build, delay.build)),
              std::pair(LabelKind::Unit, label(LabelKind::Unit, delay.unit))})
            add_seen(seen, {event, kind, number}, delay.begin_realtime_ns);
    }
    return seen;
}

}  // namespace

Result<AddOutcome> BundleInventory::add(const BundleRow& row, const NewJob& work) const {
    auto outcome = AddOutcome::New;
    const BundleFacts facts = stored_facts(row.facts);
    const std::string sender = stored_text(row.sender), reason = stored_text(row.bad_reason);
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto added,
            connection.execute(
                "INSERT INTO bundle(digest, bytes, received_ns, sender, session_id, host, event, "
                "process,"
                " started_ns, longest_delay_ns, delays, bad_reason, parsed) "
                "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,0) ON CONFLICT(digest) DO NOTHING",
                {row.digest, row.bytes, row.received_realtime_ns, sender, facts.session_id,
                 facts.host, facts.event, facts.process, facts.started_realtime_ns,
                 facts.longest_delay_ns, facts.delays, reason}));
        outcome = added > 0 ? AddOutcome::New : AddOutcome::Already;
        if (added > 0) TRY(insert_job(connection, work));
        return success();
    });
    if (!written) return written.error();
    return outcome;
}

Result<bool> BundleInventory::set_contents(const std::string& digest, const BundleFacts& facts,
                                           const std::string& bad_reason,
                                           const std::vector<BundleDelay>& delays) const {
    TRY(check_delays(delays));
    auto labels = labels_of(facts, delays);
    TRY_ASSIGN(const auto row, BundleStore(*session_, Visibility::everything()).find(digest));
    if (!row) return false;
    TRY(session_->labels().resolve(labels, row->sender, row->received_realtime_ns / day_ns));
    const std::uint32_t host = labels.at({LabelKind::Host, stored_text(facts.host)});
    const BundleFacts stored = stored_facts(facts);
    const std::string reason = stored_text(bad_reason);
    bool there = false;
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (const BundleDelay& delay : delays) {
        first_ns = std::min(first_ns, delay.begin_realtime_ns);
        last_ns = std::max(last_ns, delay.begin_realtime_ns);
    }
    const Status written_2 = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto number,
            connection.number(
                "UPDATE bundle SET session_id = $2, host = $3, event = $4, process = $5,"
                " started_ns = $6, longest_delay_ns = $7, delays = $8, bad_reason = $9, parsed = 1 "
                "WHERE digest = $1 RETURNING number",
                {digest, stored.session_id, stored.host, stored.event, stored.process,
                 stored.started_realtime_ns, stored.longest_delay_ns, stored.delays, reason}));
        there = number.has_value();
        if (!there) return success();
        TRY(connection.execute("DELETE FROM delay WHERE bundle = $1", {*number}));
        TRY(connection.execute("DELETE FROM delay_edge WHERE bundle = $1", {*number}));
        for (const BundleDelay& delay : delays) {
            const auto bundle = static_cast<std::uint64_t>(*number);
            TRY(insert_delay(connection, bundle, host, delay, labels));
            TRY(insert_edges(connection, bundle, delay, labels));
        }
        return write_seen(connection, seen_in(delays, host, labels));
    });
    if (!written_2) return written_2.error();
    // The bundle is stored already; if linking fails, maintain() does it later.
    if (there && first_ns <= last_ns)
        static_cast<void>(DelayLinks(*session_).link(host, first_ns, last_ns));
    return there;
}

Result<std::vector<BundleRow>> BundleInventory::oldest(std::uint32_t limit) const {
    return session_->select_all(bundle_columns + " ORDER BY b.number LIMIT $1", {limit},
                                read_bundle_row);
}

Result<std::vector<std::string>> BundleInventory::digests() const {
    std::vector<std::string> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows, connection.query("SELECT digest FROM bundle"));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back(rows->text(0));
        }
    });
    if (!looked) return looked.error();
    return found;
}

Status BundleInventory::remove(const std::string& digest) const {
    return session_->write([&](Connection& connection) -> Status {
        for (const char* table : {"delay", "delay_edge"})
            TRY(connection.execute(
                "DELETE FROM " + std::string(table) +
                    " WHERE bundle IN (SELECT number FROM bundle WHERE digest = $1)",
                {digest}));
        TRY(connection.execute("DELETE FROM bundle WHERE digest = $1", {digest}));
        return success();
    });
}

Result<Totals> BundleInventory::totals() const {
    Totals totals;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT),"
                " CAST(coalesce(sum(CASE WHEN bad_reason = '' THEN 0 ELSE 1 END), 0) AS BIGINT),"
                " CAST(coalesce(sum(delays), 0) AS BIGINT) FROM bundle"));
        TRY(rows->next());
        totals = {rows->natural(0), rows->natural(1), rows->natural(2), rows->natural(3)};
        return success();
    });
    if (!looked) return looked.error();
    return totals;
}

}  // namespace lagtrap::server
