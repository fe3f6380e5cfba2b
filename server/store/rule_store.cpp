#include "server/store/rule_store.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/digest.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t findings_shown = 200;

const std::string rule_columns =
    "SELECT id, name, enabled, definition, secret, author, changed_ns, since_ns, looked_ns, "
    "look_failure, told_ns,"
    " failed_ns, failure, delivered, given_up FROM tell_rule";

StoredRule read_rule(const Rows& rows) {
    StoredRule rule;
    rule.id = rows.natural(0);
    rule.name = rows.text(1);
    rule.enabled = rows.integer(2) != 0;
    rule.definition = rows.text(3);
    rule.secret = rows.text(4);
    rule.changed_by = rows.text(5);
    rule.changed_realtime_ns = rows.natural(6);
    rule.since_realtime_ns = rows.natural(7);
    rule.looked_realtime_ns = rows.natural(8);
    rule.look_failure = rows.text(9);
    rule.reported_realtime_ns = rows.natural(10);
    rule.failed_realtime_ns = rows.natural(11);
    rule.failure = rows.text(12);
    rule.delivered = rows.natural(13);
    rule.given_up = rows.natural(14);
    return rule;
}

// A row of report_finding while an evaluation updates it.
struct FindingRow {
    KeptFinding kept;
    std::uint64_t seen_ns = 0, end_reported_ns = 0;
    bool is_new = false, changed = false;
};

using FindingRows = std::map<std::string, FindingRow>;  // by subject

Result<FindingRows> read_findings(Connection& connection, std::uint64_t rule) {
    FindingRows found;
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT subject, facts, found_ns, ended_ns, told_ns, seen_ns, "
                                "end_told_ns FROM tell_finding WHERE rule = $1",
                                {rule}));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return found;
        FindingRow row{
            {{rows->text(0), rows->text(1)}, rows->natural(2), rows->natural(3), rows->natural(4)}};
        row.seen_ns = rows->natural(5);
        row.end_reported_ns = rows->natural(6);
        found.emplace(row.kept.finding.subject, std::move(row));
    }
}

void take_look(FindingRows& rows, const RuleLook& look) {
    std::set<std::string> seen;
    for (const Finding& finding : look.found) {
        seen.insert(finding.subject);
        const auto [place, added] = rows.emplace(finding.subject, FindingRow{});
        FindingRow& row = place->second;
        // A finding that returns after its end counts as new.
        if (added || row.kept.ended_realtime_ns > 0) {
            row.kept = {finding, look.at_realtime_ns, 0, 0};
            row.end_reported_ns = 0;
        }
        row.is_new = added;
        row.changed = true;
        row.kept.finding.facts = finding.facts;
        row.seen_ns = look.at_realtime_ns;
    }
    for (auto& [subject, row] : rows) {
        if (seen.contains(subject) || row.kept.ended_realtime_ns > 0) continue;
        if (look.at_realtime_ns - row.seen_ns < look.ends_after_ns) continue;
        row.kept.ended_realtime_ns = look.at_realtime_ns;
        row.changed = true;
    }
}

bool is_due(const FindingRow& row, const RuleLook& look) {
    if (row.kept.reported_realtime_ns == 0) return true;
    if (row.kept.ended_realtime_ns > 0) return look.reports_ends && row.end_reported_ns == 0;
    return look.repeat_ns > 0 &&
           row.kept.reported_realtime_ns + look.repeat_ns <= look.at_realtime_ns;
}

// Returns the findings that are due, in the order they were found, and marks them as reported.
std::vector<KeptFinding> take_news(FindingRows& rows, const RuleLook& look) {
    std::vector<KeptFinding> news;
    for (auto& [subject, row] : rows) {
        if (!is_due(row, look)) continue;
        news.push_back(row.kept);
        row.kept.reported_realtime_ns = look.at_realtime_ns;
        if (row.kept.ended_realtime_ns > 0) row.end_reported_ns = look.at_realtime_ns;
        row.changed = true;
    }
    std::stable_sort(news.begin(), news.end(), [](const KeptFinding& a, const KeptFinding& b) {
        return a.found_realtime_ns < b.found_realtime_ns;
    });
    return news;
}

Status write_findings(Connection& connection, std::uint64_t rule, const FindingRows& rows) {
    for (const auto& [subject, row] : rows) {
        if (!row.changed) continue;
        const KeptFinding& kept = row.kept;
        TRY(connection.execute(
            row.is_new
                ? "INSERT INTO tell_finding(rule, subject, facts, found_ns, ended_ns, told_ns,"
                  " seen_ns, end_told_ns) VALUES($1,$2,$3,$4,$5,$6,$7,$8)"
                : "UPDATE tell_finding SET facts = $3, found_ns = $4, ended_ns = $5, told_ns = $6,"
                  " seen_ns = $7, end_told_ns = $8 WHERE rule = $1 AND subject = $2",
            {rule, subject, kept.finding.facts, kept.found_realtime_ns, kept.ended_realtime_ns,
             kept.reported_realtime_ns, row.seen_ns, row.end_reported_ns}));
    }
    return success();
}

}  // namespace

Result<std::optional<std::uint64_t>> RuleStore::add_rule(const StoredRule& rule) const {
    std::optional<std::uint64_t> id;
    const std::string name = stored_text(rule.name), by = stored_text(rule.changed_by);
    const Status written = session_->write([&](Connection& connection) -> Status {
        id.reset();
        TRY_ASSIGN(const auto count, connection.number("SELECT count(*) FROM tell_rule"));
        if (count.value_or(0) >= rules_limit)
            return make_error(ErrorKind::TooLarge,
                              "there are " + std::to_string(rules_limit) +
                                  " rules, and there may be no more; remove one first");
        TRY_ASSIGN(
            const auto added,
            connection.number(
                "INSERT INTO tell_rule(name, enabled, definition, secret, author, changed_ns, "
                "since_ns, next_ns,"
                " looked_ns, look_failure, told_ns, failed_ns, failure, delivered, given_up) "
                "VALUES($1,$2,$3,$4,$5,$6,$6,0,0,'',0,0,'',0,0) ON CONFLICT(name) DO NOTHING "
                "RETURNING id",
                {name, rule.enabled, rule.definition, rule.secret, by, rule.changed_realtime_ns}));
        if (added) id = static_cast<std::uint64_t>(*added);
        return success();
    });
    if (!written) return written.error();
    return id;
}

Result<RuleStore::RuleChange> RuleStore::change_rule(const StoredRule& rule, bool forget) const {
    if (rule.id > INT64_MAX) return RuleChange::NoSuchRule;
    RuleChange outcome = RuleChange::Done;
    const std::string name = stored_text(rule.name), by = stored_text(rule.changed_by);
    const Status written = session_->write([&](Connection& connection) -> Status {
        outcome = RuleChange::Done;
        TRY_ASSIGN(const auto enabled,
                   connection.number("SELECT enabled FROM tell_rule WHERE id = $1" +
                                         std::string(session_->dialect().lock_rows),
                                     {rule.id}));
        TRY_ASSIGN(const auto other,
                   connection.number("SELECT id FROM tell_rule WHERE name = $1 AND id <> $2",
                                     {name, rule.id}));
        if (!enabled) outcome = RuleChange::NoSuchRule;
        if (enabled && other) outcome = RuleChange::NameTaken;
        if (outcome != RuleChange::Done) return success();
        TRY(
            connection.execute("UPDATE tell_rule SET name = $2, enabled = $3, definition = $4, "
                               "secret = $5, author = $6,"
                               " changed_ns = $7, next_ns = 0, look_failure = '' WHERE id = $1",
                               {rule.id, name, rule.enabled, rule.definition, rule.secret, by,
                                rule.changed_realtime_ns}));
        if (forget) TRY(connection.execute("DELETE FROM tell_finding WHERE rule = $1", {rule.id}));
        if (forget || (rule.enabled && *enabled == 0))
            TRY(connection.execute("UPDATE tell_rule SET since_ns = $2 WHERE id = $1",
                                   {rule.id, rule.changed_realtime_ns}));
        return success();
    });
    if (!written) return written.error();
    return outcome;
}

Result<bool> RuleStore::remove_rule(std::uint64_t id) const {
    if (id > INT64_MAX) return false;
    std::uint64_t removed = 0;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(removed, connection.execute("DELETE FROM tell_rule WHERE id = $1", {id}));
        TRY(connection.execute("DELETE FROM tell_finding WHERE rule = $1", {id}));
        TRY(connection.execute("DELETE FROM tell_message WHERE rule = $1", {id}));
        return success();
    });
    if (!written) return written.error();
    return removed > 0;
}

Result<std::vector<StoredRule>> RuleStore::list() const {
    std::vector<StoredRule> found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows, connection.query(rule_columns + " ORDER BY name, id"));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back(read_rule(*rows));
        }
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::optional<StoredRule>> RuleStore::find_rule(std::uint64_t id) const {
    std::optional<StoredRule> found;
    if (id > INT64_MAX) return found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.reset();
        TRY_ASSIGN(const auto rows, connection.query(rule_columns + " WHERE id = $1", {id}));
        TRY_ASSIGN(const bool there, rows->next());
        if (there) found = read_rule(*rows);
        return success();
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::vector<KeptFinding>> RuleStore::findings(std::uint64_t rule) const {
    std::vector<KeptFinding> found;
    if (rule > INT64_MAX) return found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(
            const auto rows,
            connection.query("SELECT subject, facts, found_ns, ended_ns, told_ns FROM tell_finding "
                             "WHERE rule = $1 ORDER BY CASE WHEN ended_ns = 0 THEN 0 ELSE 1 END,"
                             " found_ns DESC, subject LIMIT " +
                                 std::to_string(findings_shown),
                             {rule}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back({{rows->text(0), rows->text(1)},
                             rows->natural(2),
                             rows->natural(3),
                             rows->natural(4)});
        }
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::optional<StoredRule>> RuleStore::take_rule(std::uint64_t now_realtime_ns,
                                                       std::chrono::nanoseconds interval) const {
    std::optional<StoredRule> taken;
    const Status written = session_->write([&](Connection& connection) -> Status {
        taken.reset();
        {
            TRY_ASSIGN(const auto rows,
                       connection.query(
                           rule_columns +
                               " WHERE enabled = 1 AND next_ns <= $1 ORDER BY next_ns, id LIMIT 1" +
                               session_->dialect().skip_locked,
                           {now_realtime_ns}));
            TRY_ASSIGN(const bool found, rows->next());
            if (!found) return success();
            taken = read_rule(*rows);
        }
        TRY(connection.execute(
            "UPDATE tell_rule SET next_ns = $2 WHERE id = $1",
            {taken->id, now_realtime_ns + static_cast<std::uint64_t>(interval.count())}));
        return success();
    });
    if (!written) return written.error();
    return taken;
}

Result<bool> RuleStore::note_findings(const RuleLook& look, const ComposeMessage& compose) const {
    bool made = false;
    const Status written = session_->write([&](Connection& connection) -> Status {
        made = false;
        // Other servers that evaluate the same rule wait here.
        TRY_ASSIGN(const auto ours,
                   connection.number("SELECT id FROM tell_rule WHERE id = $1 AND enabled = 1 AND "
                                     "changed_ns = $2 AND looked_ns <= $3" +
                                         std::string(session_->dialect().lock_rows),
                                     {look.rule, look.changed_realtime_ns, look.at_realtime_ns}));
        if (!ours) return success();
        TRY(connection.execute(
            "UPDATE tell_rule SET looked_ns = $2, look_failure = '' WHERE id = $1",
            {look.rule, look.at_realtime_ns}));
        TRY_ASSIGN(FindingRows rows, read_findings(connection, look.rule));
        take_look(rows, look);
        TRY_ASSIGN(
            const auto waiting,
            connection.number(
                "SELECT count(*) FROM tell_message WHERE rule = $1 AND test = 0 AND state < 2",
                {look.rule}));
        if (look.may_report && waiting.value_or(0) == 0) {
            std::vector<KeptFinding> news = take_news(rows, look);
            const std::uint64_t left_out = news.size() - std::min(news.size(), look.findings_limit);
            news.resize(news.size() - left_out);
            made = !news.empty();
            if (made) {
                const std::string body = compose(news, left_out), id = random_uuid();
                TRY(
                    connection.execute("INSERT INTO tell_message(id, rule, test, body, made_ns, "
                                       "state, attempts, next_ns,"
                                       " settled_ns, lease_until_ns, lease, reason) "
                                       "VALUES($1,$2,0,$3,$4,0,0,0,0,0,'','')",
                                       {id, look.rule, body, look.at_realtime_ns}));
            }
        }
        return write_findings(connection, look.rule, rows);
    });
    if (!written) return written.error();
    return made;
}

Status RuleStore::note_look_failure(std::uint64_t rule, const std::string& reason) const {
    const std::string words = stored_reason(reason);
    return session_->write([&](Connection& connection) -> Status {
        TRY(connection.execute("UPDATE tell_rule SET look_failure = $2 WHERE id = $1",
                               {rule, words}));
        return success();
    });
}

}  // namespace lagtrap::server
