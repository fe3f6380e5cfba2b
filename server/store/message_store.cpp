#include "server/store/message_store.hpp"

#include "core/digest.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t messages_shown = 20;

constexpr std::uint32_t messages_kept = 50;  // per rule

const std::string message_columns =
    "SELECT m.id, m.rule, m.test, m.body, m.made_ns, m.state, m.attempts, m.next_ns, m.settled_ns, "
    "m.reason, m.lease FROM tell_message m";

StoredMessage read_message(const Rows& rows) {
    StoredMessage message;
    message.id = rows.text(0);
    message.rule = rows.natural(1);
    message.test = rows.integer(2) != 0;
    message.body = rows.text(3);
    message.made_realtime_ns = rows.natural(4);
    message.state = static_cast<MessageState>(rows.integer(5));
    message.attempts = rows.small(6);
    message.next_realtime_ns = rows.natural(7);
    message.settled_realtime_ns = rows.natural(8);
    message.reason = rows.text(9);
    message.lease = rows.text(10);
    return message;
}

Status count_outcome(Connection& connection, const StoredMessage& message, std::uint64_t now_ns) {
    if (message.state == MessageState::Delivered) {
        TRY(connection.execute(
            "UPDATE tell_rule SET failure = '', delivered = delivered + 1 WHERE id = $1",
            {message.rule}));
        // Rules that fire again and again do not fill the table.
        TRY(connection.execute(
            "DELETE FROM tell_message WHERE rule = $1 AND state >= 2 AND made_ns < (SELECT made_ns "
            "FROM tell_message WHERE rule = $1 ORDER BY made_ns DESC LIMIT 1 OFFSET $2)",
            {message.rule, messages_kept}));
        if (!message.test)
            TRY(connection.execute("UPDATE tell_rule SET told_ns = $2 WHERE id = $1",
                                   {message.rule, now_ns}));
        return success();
    }
    const std::string reason = stored_reason(message.reason);
    TRY(connection.execute(
        "UPDATE tell_rule SET failure = $2, failed_ns = $3, given_up = given_up + $4 WHERE id = $1",
        {message.rule, reason, now_ns, message.state == MessageState::GivenUp ? 1 : 0}));
    return success();
}

}  // namespace

Result<std::vector<StoredMessage>> MessageStore::of_rule(std::uint64_t rule) const {
    std::vector<StoredMessage> found;
    if (rule > INT64_MAX) return found;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query(message_columns +
                                        " WHERE m.rule = $1 ORDER BY m.made_ns DESC, m.id LIMIT " +
                                        std::to_string(messages_shown),
                                    {rule}));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back(read_message(*rows));
        }
    });
    if (!looked) return looked.error();
    return found;
}

Result<bool> MessageStore::add_test_message(const StoredMessage& message) const {
    std::uint64_t added = 0;
    const Status written = session_->write([&](Connection& connection) -> Status {
        added = 0;
        // The lock prevents two test messages from being created at once.
        TRY_ASSIGN(const auto there,
                   connection.number("SELECT id FROM tell_rule WHERE id = $1" +
                                         std::string(session_->dialect().lock_rows),
                                     {message.rule}));
        TRY_ASSIGN(
            const auto waiting,
            connection.number(
                "SELECT count(*) FROM tell_message WHERE rule = $1 AND test = 1 AND state < 2",
                {message.rule}));
        if (!there || waiting.value_or(0) > 0) return success();
        TRY_ASSIGN(
            added,
            connection.execute(
                "INSERT INTO tell_message(id, rule, test, body, made_ns, state, attempts, next_ns,"
                " settled_ns, lease_until_ns, lease, reason) VALUES($1,$2,1,$3,$4,0,0,0,0,0,'','')",
                {message.id, message.rule, message.body, message.made_realtime_ns}));
        return success();
    });
    if (!written) return written.error();
    return added > 0;
}

Result<std::optional<StoredMessage>> MessageStore::take_message(
    std::uint64_t now_realtime_ns, std::chrono::nanoseconds lease) const {
    std::optional<StoredMessage> taken;
    const std::string proof = random_uuid();
    const Status written = session_->write([&](Connection& connection) -> Status {
        taken.reset();
        {
            // Includes messages whose sender is gone.
            TRY_ASSIGN(
                const auto rows,
                connection.query(message_columns +
                                     " WHERE (m.test = 1 OR EXISTS (SELECT 1 FROM tell_rule r "
                                     "WHERE r.id = m.rule AND r.enabled = 1)) AND ((m.state = 0 "
                                     "AND m.next_ns <= $1) OR (m.state = 1 AND m.lease_until_ns <= "
                                     "$1)) ORDER BY m.next_ns, m.made_ns, m.id LIMIT 1" +
                                     session_->dialect().skip_locked,
                                 {now_realtime_ns}));
            TRY_ASSIGN(const bool found, rows->next());
            if (!found) return success();
            taken = read_message(*rows);
        }
        taken->lease = proof;
        ++taken->attempts;
        TRY(connection.execute(
            "UPDATE tell_message SET state = 1, attempts = attempts + 1, lease = $2,"
            " lease_until_ns = $3 WHERE id = $1",
            {taken->id, proof, now_realtime_ns + static_cast<std::uint64_t>(lease.count())}));
        return success();
    });
    if (!written) return written.error();
    return taken;
}

Result<bool> MessageStore::settle_message(const StoredMessage& message,
                                          std::uint64_t now_realtime_ns) const {
    std::uint64_t changed = 0;
    const std::string reason = stored_reason(message.reason);
    const bool waits = message.state == MessageState::Waiting;
    const Status written = session_->write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            changed,
            connection.execute(
                "UPDATE tell_message SET state = $3, next_ns = $4, settled_ns = $5, reason = $6, "
                "lease = '' WHERE id = $1 AND lease = $2 AND state = 1",
                {message.id, message.lease, message.state, waits ? message.next_realtime_ns : 0,
                 waits ? 0 : now_realtime_ns, reason}));
        return changed > 0 ? count_outcome(connection, message, now_realtime_ns) : success();
    });
    if (!written) return written.error();
    return changed > 0;
}

Result<MessageCounts> MessageStore::message_counts() const {
    MessageCounts counts;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto waiting,
                   connection.number("SELECT count(*) FROM tell_message WHERE state < 2"));
        TRY_ASSIGN(const auto unwell,
                   connection.number(
                       "SELECT count(*) FROM tell_rule WHERE failure <> '' OR look_failure <> ''"));
        counts = {static_cast<std::uint64_t>(waiting.value_or(0)),
                  static_cast<std::uint64_t>(unwell.value_or(0))};
        return success();
    });
    if (!looked) return looked.error();
    return counts;
}

}  // namespace lagtrap::server
