#include "server/alerts/alert_sender.hpp"

#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "server/alerts/conditions.hpp"
#include "server/alerts/delivery.hpp"
#include "server/alerts/message.hpp"
#include "server/alerts/weekly_digest.hpp"

namespace lagtrap::server {
namespace {

// Longer than an attempt may take. If a server is killed, others take over its message after this
// time.
constexpr std::chrono::seconds lease{30};
constexpr std::chrono::seconds poll_interval{2};  // other servers create messages too
constexpr std::size_t findings_of_message = 50;
// A value that oscillates around its limit is one finding, not many.
constexpr std::uint64_t wavering_ns = 600ULL * 1'000'000'000ULL;

bool is_of_a_cause(Condition condition) {
    return condition == Condition::NewCause || condition == Condition::CauseCameBack;
}

Result<RuleLook> look_of(const StoredRule& stored, const Rule& rule, std::uint64_t now_ns) {
    RuleLook look;
    look.rule = stored.id;
    look.changed_realtime_ns = stored.changed_realtime_ns;
    look.at_realtime_ns = now_ns;
    if (rule.quiet) {
        TRY_ASSIGN(const bool quiet, rule.quiet->holds(now_ns));
        look.may_report = !quiet;
    }
    look.reports_ends = rule.report_ends || rule.way == Way::Alertmanager;
    look.repeat_ns = rule.way == Way::Alertmanager ? alert_repeat_ns : rule.repeat_ns;
    look.ends_after_ns = is_of_a_cause(rule.condition) ? 0 : wavering_ns;
    look.findings_limit = findings_of_message;
    return look;
}

}  // namespace

void AlertSender::start() {
    threads_.emplace_back([this] { work(&AlertSender::look_once); });
    threads_.emplace_back([this] { work(&AlertSender::send_once); });
}

void AlertSender::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    came_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

void AlertSender::wake() {
    {
        const std::lock_guard lock(mutex_);
        ++wakes_;
    }
    came_.notify_all();
}

void AlertSender::work(Result<bool> (AlertSender::*step)(std::uint64_t)) {
    for (;;) {
        std::uint64_t seen = 0;
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) return;
            seen = wakes_;
        }
        const auto done = (this->*step)(ClockSnapshot::take().realtime_ns);
        if (!done) log_("rules: " + done.error().message);
        if (done && *done) continue;
        std::unique_lock lock(mutex_);
        came_.wait_for(lock, poll_interval, [&] { return stopping_ || wakes_ != seen; });
    }
}

Result<bool> AlertSender::look_once(std::uint64_t now_realtime_ns) {
    TRY_ASSIGN(const auto stored, store_.rules().take_rule(now_realtime_ns, options_.interval));
    if (!stored) return false;
    const Status looked = look_at(*stored, now_realtime_ns);
    if (looked) return true;
    ++figures_.look_failures;
    log_(fmt::format("rule \"{}\" cannot be evaluated: {}", stored->name, looked.error().message));
    TRY(store_.rules().note_look_failure(stored->id, looked.error().message));
    return true;
}

Status AlertSender::look_at(const StoredRule& stored, std::uint64_t now_ns) {
    TRY_ASSIGN(const Rule rule, parse_rule(stored.definition));
    TRY_ASSIGN(RuleLook noted, look_of(stored, rule, now_ns));
    TRY_ASSIGN(noted.found, found_before(stored.id, rule, now_ns));
    if (noted.found.empty()) {
        TRY_ASSIGN(noted.found, look(store_, rule, stored.since_realtime_ns, now_ns));
    }
    const auto made = store_.rules().note_findings(noted, [&](const auto& news,
                                                              std::uint64_t left_out) {
        return message_of(stored, rule, news, left_out, now_ns, options_.public_url).json_text();
    });
    if (!made) return made.error();
    if (*made) wake();
    return success();
}

// The digest of a week stays as it was first computed.
Result<std::vector<Finding>> AlertSender::found_before(std::uint64_t id, const Rule& rule,
                                                       std::uint64_t now_ns) const {
    std::vector<Finding> found;
    if (rule.condition != Condition::WeeklyDigest) return found;
    TRY_ASSIGN(const auto findings, store_.rules().findings(id));
    for (const KeptFinding& kept : findings)
        if (kept.ended_realtime_ns == 0 && kept.finding.subject == last_week(now_ns).subject())
            found.push_back(kept.finding);
    return found;
}

Result<bool> AlertSender::send_once(std::uint64_t now_realtime_ns) {
    TRY_ASSIGN(auto message, store_.messages().take_message(now_realtime_ns, lease));
    if (!message) return false;
    const Status sent = send(*message, now_realtime_ns);
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    if (sent) {
        ++figures_.delivered;
        message->state = MessageState::Delivered;
        message->reason.clear();
    } else if (sent.error().kind == ErrorKind::Vanished) {
        // Sent again after the lease ends. It may have arrived already, and keeps its id.
        return false;
    } else {
        ++figures_.failures;
        const auto next_ns = next_attempt_ns(*message, now_ns);
        if (!next_ns) ++figures_.given_up;
        message->state = next_ns ? MessageState::Waiting : MessageState::GivenUp;
        message->next_realtime_ns = next_ns.value_or(0);
        message->reason = sent.error().message;
        log_(fmt::format(
            "message {} of rule {} was not delivered: {}; attempt {}, {}", message->id,
            message->rule, message->reason, message->attempts,
            next_ns ? "retry in " + format_duration(std::chrono::nanoseconds(*next_ns - now_ns))
                    : std::string("given up")));
    }
    TRY(store_.messages().settle_message(*message, now_ns));
    return true;
}

Status AlertSender::send(const StoredMessage& message, std::uint64_t now_ns) {
    TRY_ASSIGN(const auto stored, store_.rules().find_rule(message.rule));
    if (!stored) return make_error(ErrorKind::NotFound, "its rule is gone");
    TRY_ASSIGN(const Rule rule, parse_rule(stored->definition));
    TRY_ASSIGN(const Outgoing outgoing, outgoing_of(message, rule, stored->secret, now_ns));
    return send_out(outgoing, options_.receivers, stopping_);
}

std::string alert_metrics(const AlertFigures& figures, const MessageCounts& counts) {
    const auto metric = [](const char* type, const char* name, const char* help,
                           std::uint64_t value) {
        return fmt::format(
            "# HELP lagtrap_server_{0} {1}\n# TYPE lagtrap_server_{0} {2}\nlagtrap_server_{0} "
            "{3}\n",
            name, help, type, value);
    };
    return metric("counter", "messages_delivered_total", "Messages delivered.", figures.delivered) +
           metric("counter", "message_failures_total", "Failed attempts to deliver a message.",
                  figures.failures) +
           metric("counter", "messages_given_up_total", "Messages that could not be delivered.",
                  figures.given_up) +
           metric("counter", "rule_failures_total", "Failed evaluations of rules.",
                  figures.look_failures) +
           metric("gauge", "messages_waiting", "Messages waiting for delivery, on all servers.",
                  counts.waiting) +
           metric("gauge", "rules_unwell", "Rules whose last message or evaluation failed.",
                  counts.unwell_rules);
}

}  // namespace lagtrap::server
