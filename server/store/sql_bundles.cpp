#include <algorithm>

#include "server/store/seen_names.hpp"
#include "server/store/sql_store.hpp"

namespace lagtrap::server {
namespace {

const std::string bundle_columns =
    "SELECT b.number, b.digest, b.bytes, b.received_ns, b.sender, b.session_id, b.host, b.event, b.process,"
    " b.started_ns, b.longest_delay_ns, b.delays, b.bad_reason, b.parsed FROM bundle b";

BundleRow read_row(const Rows& rows) {
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

Result<std::vector<BundleRow>> select_rows(Connection& connection, const std::string& tail, const Values& values) {
    std::vector<BundleRow> found;
    TRY_ASSIGN(const auto rows, connection.query(bundle_columns + tail, values));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return found;
        found.push_back(read_row(*rows));
    }
}

Result<std::vector<BundleRow>> read_rows(Database& database, const std::string& tail, const Values& values) {
    std::vector<BundleRow> found;
    const Status looked = database.read([&](Connection& connection) -> Status {
        TRY_ASSIGN(found, select_rows(connection, tail, values));
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

BundleFacts stored_facts(const BundleFacts& facts) {
    BundleFacts stored = facts;
    for (std::string* text : {&stored.session_id, &stored.host, &stored.event, &stored.process})
        *text = stored_text(*text);
    stored.started_realtime_ns = std::min<std::uint64_t>(facts.started_realtime_ns, INT64_MAX);
    stored.longest_delay_ns = std::min<std::uint64_t>(facts.longest_delay_ns, INT64_MAX);
    return stored;
}

Status insert_delay(Connection& connection, std::uint64_t bundle, std::uint32_t host, const BundleDelay& delay,
                    const std::map<LabelName, std::uint32_t>& labels) {
    const auto label = [&](LabelKind kind, const std::string& text) { return labels.at({kind, stored_text(text)}); };
    TRY(connection.execute(
        "INSERT INTO delay(bundle, number, delayed, event, begin_ns, duration_ns, threshold_ns, host, process, thread,"
        " account, build, start, pid, tid, details, profile, unit)"
        " VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18)",
        {bundle, delay.number, delay.delayed, label(LabelKind::Event, delay.event),
         std::min<std::uint64_t>(delay.begin_realtime_ns, INT64_MAX),
         std::min<std::uint64_t>(delay.duration_ns, INT64_MAX), std::min<std::uint64_t>(delay.threshold_ns, INT64_MAX),
         host, label(LabelKind::Process, delay.process), label(LabelKind::Thread, delay.thread),
         label(LabelKind::User, delay.user), label(LabelKind::Build, delay.build), delay.start, delay.pid, delay.tid,
         delay.details, Value::bytes(delay.profile), delay.unit.empty() ? 0 : label(LabelKind::Unit, delay.unit)}));
    return success();
}

std::map<LabelName, std::uint32_t> labels_of(const BundleFacts& facts, const std::vector<BundleDelay>& delays) {
    std::map<LabelName, std::uint32_t> labels;
    labels[{LabelKind::Host, stored_text(facts.host)}] = 0;
    for (const BundleDelay& delay : delays) {
        for (const auto& [kind, text] :
             {std::pair(LabelKind::Event, &delay.event), std::pair(LabelKind::Process, &delay.process),
              std::pair(LabelKind::Thread, &delay.thread), std::pair(LabelKind::User, &delay.user),
              std::pair(LabelKind::Build, &delay.build), std::pair(LabelKind::Unit, &delay.unit)})
            labels[{kind, stored_text(*text)}] = 0;
    }
    return labels;
}

Status check_delays(const std::vector<BundleDelay>& delays) {
    for (const BundleDelay& delay : delays) {
        if (delay.profile.size() > profile_limit_bytes || delay.details.size() > profile_limit_bytes)
            return make_error(ErrorKind::TooLarge, "a delay's profile or details have more than 1 MiB");
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
             {std::pair(LabelKind::Host, host), std::pair(LabelKind::Process, label(LabelKind::Process, delay.process)),
              std::pair(LabelKind::User, label(LabelKind::User, delay.user)),
              std::pair(LabelKind::Build, label(LabelKind::Build, delay.build)),
              std::pair(LabelKind::Unit, label(LabelKind::Unit, delay.unit))})
            add_seen(seen, {event, kind, number}, delay.begin_realtime_ns);
    }
    return seen;
}

}  // namespace

Result<AddOutcome> SqlStore::add(const BundleRow& row, const NewJob& work) {
    auto outcome = AddOutcome::New;
    const BundleFacts facts = stored_facts(row.facts);
    const std::string sender = stored_text(row.sender), reason = stored_text(row.bad_reason);
    const Status written = database_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto added,
            connection.execute(
                "INSERT INTO bundle(digest, bytes, received_ns, sender, session_id, host, event, process,"
                " started_ns, longest_delay_ns, delays, bad_reason, parsed)"
                " VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,0) ON CONFLICT(digest) DO NOTHING",
                {row.digest, row.bytes, row.received_realtime_ns, sender, facts.session_id, facts.host, facts.event,
                 facts.process, facts.started_realtime_ns, facts.longest_delay_ns, facts.delays, reason}));
        outcome = added > 0 ? AddOutcome::New : AddOutcome::Already;
        if (added > 0) TRY(insert_job(connection, work));
        return success();
    });
    if (!written) return written.error();
    return outcome;
}

Result<bool> SqlStore::set_contents(const std::string& digest, const BundleFacts& facts, const std::string& bad_reason,
                                    const std::vector<BundleDelay>& delays) {
    TRY(check_delays(delays));
    auto labels = labels_of(facts, delays);
    TRY_ASSIGN(const auto row, find(digest));
    if (!row) return false;
    TRY(labels_.resolve(labels, row->sender, row->received_realtime_ns / day_ns));
    const std::uint32_t host = labels.at({LabelKind::Host, stored_text(facts.host)});
    const BundleFacts stored = stored_facts(facts);
    const std::string reason = stored_text(bad_reason);
    bool there = false;
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (const BundleDelay& delay : delays) {
        first_ns = std::min(first_ns, delay.begin_realtime_ns);
        last_ns = std::max(last_ns, delay.begin_realtime_ns);
    }
    const Status written_2 = database_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto number,
                   connection.number("UPDATE bundle SET session_id = $2, host = $3, event = $4, process = $5,"
                                     " started_ns = $6, longest_delay_ns = $7, delays = $8, bad_reason = $9, parsed = 1"
                                     " WHERE digest = $1 RETURNING number",
                                     {digest, stored.session_id, stored.host, stored.event, stored.process,
                                      stored.started_realtime_ns, stored.longest_delay_ns, stored.delays, reason}));
        there = number.has_value();
        if (!there) return success();
        TRY(connection.execute("DELETE FROM delay WHERE bundle = $1", {*number}));
        for (const BundleDelay& delay : delays)
            TRY(insert_delay(connection, static_cast<std::uint64_t>(*number), host, delay, labels));
        return write_seen(connection, seen_in(delays, host, labels));
    });
    if (!written_2) return written_2.error();
    // The bundle is stored already; if linking fails, maintain() does it later.
    if (there && first_ns <= last_ns) static_cast<void>(link_delays(host, first_ns, last_ns));
    return there;
}

Result<std::optional<BundleRow>> SqlStore::find(const std::string& digest) {
    TRY_ASSIGN(const auto rows, read_rows(*database_, " WHERE b.digest = $1", {digest}));
    return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Result<std::vector<BundleRow>> SqlStore::list(std::uint32_t limit, std::optional<std::int64_t> before) {
    return read_rows(*database_, " WHERE b.number < $1 ORDER BY b.number DESC LIMIT $2",
                     {before.value_or(INT64_MAX), limit});
}

Result<BundlePage> SqlStore::list_filtered(const Filter& filter, std::uint32_t limit, std::optional<PageKey> after) {
    limit = std::clamp<std::uint32_t>(limit, 1, page_limit);
    BundlePage page;
    const bool by_delay = filter.event || !filter.user.empty() || !filter.build.empty() || !filter.process.empty() ||
                          !filter.unit.empty() || filter.start;
    // Bad bundles have no delays and are found by their own columns.
    const auto list = [&](Connection& connection, const NumberedFilter* numbered) -> Status {
        page = {};
        Where where;
        std::string tail;
        if (numbered != nullptr) {
            add_delay_conditions(where, *numbered);
            where.add("x.delayed = 1");
            tail = " WHERE b.number IN (SELECT x.bundle FROM delay x" + where.sql() + ") AND b.number < " +
                   where.parameter(after ? after->id : INT64_MAX);
        } else {
            where.add("b.number < ?", after ? after->id : INT64_MAX);
            if (filter.from_ns) where.add("b.started_ns >= ?", std::min<std::uint64_t>(*filter.from_ns, INT64_MAX));
            if (filter.to_ns) where.add("b.started_ns < ?", std::min<std::uint64_t>(*filter.to_ns, INT64_MAX));
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
        const Status looked = read_filtered(filter, [&](Connection& connection, const NumberedFilter& numbered) {
            return list(connection, &numbered);
        });
        if (!looked) return looked.error();
    } else {
        const Status looked_2 = database_->read([&](Connection& connection) { return list(connection, nullptr); });
        if (!looked_2) return looked_2.error();
    }
    return page;
}

Result<std::vector<BundleRow>> SqlStore::oldest(std::uint32_t limit) {
    return read_rows(*database_, " ORDER BY b.number LIMIT $1", {limit});
}

Result<std::vector<std::string>> SqlStore::digests() {
    std::vector<std::string> found;
    const Status looked = database_->read([&](Connection& connection) -> Status {
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

Status SqlStore::remove(const std::string& digest) {
    return database_->write([&](Connection& connection) -> Status {
        TRY(connection.execute("DELETE FROM delay WHERE bundle IN (SELECT number FROM bundle WHERE digest = $1)",
                               {digest}));
        TRY(connection.execute("DELETE FROM bundle WHERE digest = $1", {digest}));
        return success();
    });
}

Result<Totals> SqlStore::totals() {
    Totals totals;
    const Status looked = database_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT),"
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
