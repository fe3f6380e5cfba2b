#include "server/api/rule_routes.hpp"

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"
#include "server/alerts/conditions.hpp"
#include "server/alerts/message.hpp"
#include "server/alerts/signature.hpp"
#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t secret_limit_bytes = 500;
constexpr std::array<std::string_view, 4> message_states{"waiting", "sending", "delivered",
                                                         "given_up"};

Reply no_such_rule() { return reply_of({404, "there is no such rule"}); }
json::value time_or_null(std::uint64_t time_ns) {
    if (time_ns == 0) return nullptr;
    return json_digits(time_ns);
}

json::object state_json(const StoredRule& rule) {
    return {{"looked_ns", time_or_null(rule.looked_realtime_ns)},
            {"look_failure", text_or_null(rule.look_failure)},
            {"notified_ns", time_or_null(rule.reported_realtime_ns)},
            {"failed_ns", time_or_null(rule.failed_realtime_ns)},
            {"failure", text_or_null(rule.failure)},
            {"delivered", json_number(rule.delivered)},
            {"given_up", json_number(rule.given_up)}};
}

json::object stored_rule_json(const StoredRule& stored) {
    json::object object;
    if (const auto rule = parse_rule(stored.definition)) object = rule_json(*rule);
    object["id"] = json_digits(stored.id);
    object["name"] = stored.name;
    object["enabled"] = stored.enabled;
    object["has_secret"] = !stored.secret.empty();
    object["changed_by"] = text_or_null(stored.changed_by);
    object["changed_ns"] = json_digits(stored.changed_realtime_ns);
    object["state"] = state_json(stored);
    return object;
}

json::object message_row(const StoredMessage& stored) {
    const auto message = Message::parse(stored.body);
    const bool waits = stored.state == MessageState::Waiting;
    return {{"id", stored.id},
            {"test", stored.test},
            {"made_ns", json_digits(stored.made_realtime_ns)},
            {"state", message_states.at(static_cast<std::size_t>(stored.state))},
            {"attempts", stored.attempts},
            {"next_ns", waits ? time_or_null(stored.next_realtime_ns) : json::value(nullptr)},
            {"settled_ns", time_or_null(stored.settled_realtime_ns)},
            {"reason", text_or_null(stored.reason)},
            {"headline", message ? message->headline() : std::string()},
            {"findings", message ? json_number(message->findings.size() + message->left_out) : 0}};
}

json::object finding_row(const KeptFinding& kept) {
    const Facts facts = Facts::parse(kept.finding.facts);
    return {{"subject", kept.finding.subject},
            {"title", facts.title},
            {"path", facts.path},
            {"found_ns", json_digits(kept.found_realtime_ns)},
            {"ended_ns", time_or_null(kept.ended_realtime_ns)},
            {"notified_ns", time_or_null(kept.reported_realtime_ns)}};
}

// A rule as sent, and its previous version if there is one.
struct AskedRule {
    StoredRule stored;
    Rule rule;
};

std::optional<Refusal> take_name(const json::object& body, StoredRule& stored) {
    const auto name = read_text(body, "name", rule_name_limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&name)) return *wrong;
    stored.name = std::get<std::string>(name);
    if (stored.name.empty() || printable(stored.name) != stored.name)
        return Refusal{400, "\"name\": expected 1 to 64 bytes without control characters"};
    if (const json::value* enabled = body.if_contains("enabled")) {
        if (!enabled->is_bool()) return Refusal{400, "\"enabled\": expected true or false"};
        stored.enabled = enabled->get_bool();
    }
    return std::nullopt;
}

// Slack's address is itself the secret: the rule keeps only the host.
std::optional<Refusal> take_slack_address(AskedRule& asked, const std::optional<AskedRule>& before,
                                          bool secret_given) {
    if (secret_given)
        return Refusal{400, "\"secret\" does not go with slack, whose secret is the address"};
    const bool kept =
        before && before->rule.way == Way::Slack && asked.rule.address == before->rule.address;
    asked.stored.secret = kept ? before->stored.secret : asked.rule.address;
    asked.rule.address = masked_address(asked.rule.address);
    return std::nullopt;
}

std::optional<Refusal> take_secret(const json::object& body, AskedRule& asked,
                                   const std::optional<AskedRule>& before) {
    const json::value* given = body.if_contains("secret");
    const bool is_given = given != nullptr && !given->is_null();
    if (asked.rule.way == Way::Slack) return take_slack_address(asked, before, is_given);
    if (is_given) {
        auto secret = read_text(body, "secret", secret_limit_bytes);
        if (const auto* wrong = std::get_if<Refusal>(&secret)) return *wrong;
        asked.stored.secret = std::get<std::string>(std::move(secret));
        if (printable(asked.stored.secret) != asked.stored.secret)
            return Refusal{400, "\"secret\": expected a text without control characters"};
    } else if (before && !before->stored.secret.empty()) {
        // Otherwise anybody who may change rules could have a secret sent to their own server.
        if (!same_receiver(asked.rule, before->rule))
            return Refusal{400, "way, host or user is another, so \"secret\" has to be given again",
                           "an empty text takes it away"};
        asked.stored.secret = before->stored.secret;
    }
    if (asked.rule.way != Way::Webhook) return std::nullopt;
    if (asked.stored.secret.empty()) asked.stored.secret = make_webhook_secret();
    if (const auto fine = check_webhook_secret(asked.stored.secret); !fine)
        return Refusal{400, fine.error().message};
    return std::nullopt;
}

std::optional<Refusal> check_zone(const Rule& rule) {
    if (!rule.quiet) return std::nullopt;
    const auto known = rule.quiet->holds(ClockSnapshot::take().realtime_ns);
    if (known) return std::nullopt;
    return Refusal{400, "\"quiet_zone\": " + known.error().message,
                   "names are those of the time zone database, such as Europe/Berlin; they come "
                   "with the package tzdata, older ones with tzdata-legacy"};
}

std::variant<AskedRule, Refusal> read_asked(const RuleParts& parts, const Request& request,
                                            const std::optional<AskedRule>& before) {
    auto body = read_object(
        request,
        {"name",         "condition",   "way",          "address",     "(enabled)",  "(event)",
         "(host)",       "(over_ns)",   "(over_share)", "(factor)",    "(hours)",    "(least_runs)",
         "(silent_ns)",  "(over_runs)", "(from)",       "(to)",        "(user)",     "(secret)",
         "(quiet_from)", "(quiet_to)",  "(quiet_zone)", "(tell_ends)", "(repeat_ns)"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return *wrong;
    const auto& object = std::get<json::object>(body);
    AskedRule asked;
    if (auto wrong = take_name(object, asked.stored)) return *wrong;
    auto rule = read_rule(object);
    if (!rule) return Refusal{400, rule.error().message};
    asked.rule = std::move(rule).value();
    if (auto wrong = check_zone(asked.rule)) return *wrong;
    if (auto wrong = take_secret(object, asked, before)) return *wrong;
    asked.stored.definition = json::serialize(rule_json(asked.rule));
    asked.stored.changed_by = who_of(parts.principal);
    asked.stored.changed_realtime_ns = ClockSnapshot::take().realtime_ns;
    return asked;
}

Result<std::optional<StoredRule>> find(const RuleStore& store, const Route& route) {
    const auto id = read_digits(route.arguments[0]);
    if (!id) return std::optional<StoredRule>();
    return store.find_rule(*id);
}

std::string detail_of(const AskedRule& asked) {
    return std::string(name_of(asked.rule.condition)) + " to " +
           std::string(name_of(asked.rule.way)) + " " + asked.rule.address +
           (asked.stored.enabled ? "" : ", off");
}

}  // namespace

Reply list_rules(const RuleStore& store) {
    const auto rules = store.list();
    if (!rules) return failure(rules.error());
    json::array list;
    for (const StoredRule& rule : *rules) list.push_back(stored_rule_json(rule));
    return json_reply(json::object{{"rules", std::move(list)}});
}

Reply get_rule(const RuleStore& store, const MessageStore& message_store, const Route& route) {
    const auto rule = find(store, route);
    if (!rule) return failure(rule.error());
    if (!*rule) return no_such_rule();
    const auto messages = message_store.of_rule((*rule)->id);
    if (!messages) return failure(messages.error());
    const auto findings = store.findings((*rule)->id);
    if (!findings) return failure(findings.error());
    json::object object = stored_rule_json(**rule);
    json::array message_rows, finding_rows;
    for (const StoredMessage& message : *messages) message_rows.push_back(message_row(message));
    for (const KeptFinding& kept : *findings) finding_rows.push_back(finding_row(kept));
    object["messages"] = std::move(message_rows);
    object["findings"] = std::move(finding_rows);
    return json_reply(object);
}

Reply add_rule(const RuleParts& parts, const Request& request) {
    auto read = read_asked(parts, request, std::nullopt);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    AskedRule& asked = std::get<AskedRule>(read);
    const auto id = parts.rules.add_rule(asked.stored);
    if (!id && id.error().kind == ErrorKind::TooLarge) return reply_of({409, id.error().message});
    if (!id) return failure(id.error());
    if (!*id) return reply_of({409, "there is a rule of that name already"});
    parts.audit.note(asked.stored.changed_by, "add rule", asked.stored.name, detail_of(asked));
    parts.alert_sender.wake();
    asked.stored.id = **id;
    json::object object = stored_rule_json(asked.stored);
    // The receiver needs it, and this is the only reply that contains it.
    if (asked.rule.way == Way::Webhook) object["secret"] = asked.stored.secret;
    return json_reply(object, 201);
}

Reply change_rule(const RuleParts& parts, const Route& route, const Request& request) {
    const auto stored = find(parts.rules, route);
    if (!stored) return failure(stored.error());
    if (!*stored) return no_such_rule();
    const auto rule_before = parse_rule((*stored)->definition);
    if (!rule_before) return bad_request(rule_before.error());
    const std::optional<AskedRule> before = AskedRule{**stored, *rule_before};
    auto read = read_asked(parts, request, before);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    AskedRule& asked = std::get<AskedRule>(read);
    asked.stored.id = (*stored)->id;
    const auto changed =
        parts.rules.change_rule(asked.stored, !same_condition(asked.rule, before->rule));
    if (!changed) return failure(changed.error());
    if (*changed == RuleStore::RuleChange::NoSuchRule) return no_such_rule();
    if (*changed == RuleStore::RuleChange::NameTaken)
        return reply_of({409, "there is a rule of that name already"});
    parts.audit.note(asked.stored.changed_by, "change rule", asked.stored.name, detail_of(asked));
    parts.alert_sender.wake();
    return get_rule(parts.rules, parts.messages, route);
}

Reply delete_rule(const RuleParts& parts, const Route& route, const Request& request) {
    const auto stored = find(parts.rules, route);
    if (!stored) return failure(stored.error());
    if (!*stored) return no_such_rule();
    const auto removed = parts.rules.remove_rule((*stored)->id);
    if (!removed) return failure(removed.error());
    if (!*removed) return no_such_rule();
    parts.audit.note(who_of(parts.principal), "delete rule", (*stored)->name,
                     "from " + request.sender);
    return empty_reply();
}

Reply test_rule(const RuleParts& parts, const Route& route) {
    const auto stored = find(parts.rules, route);
    if (!stored) return failure(stored.error());
    if (!*stored) return no_such_rule();
    const auto rule = parse_rule((*stored)->definition);
    if (!rule) return bad_request(rule.error());
    StoredMessage message;
    message.id = random_uuid();
    message.rule = (*stored)->id;
    message.made_realtime_ns = ClockSnapshot::take().realtime_ns;
    message.body = test_message_of(**stored, *rule, message.made_realtime_ns,
                                   parts.alert_sender.options().public_url)
                       .json_text();
    const auto added = parts.messages.add_test_message(message);
    if (!added) return failure(added.error());
    if (!*added) return reply_of({409, "a test of this rule is under way already"});
    parts.audit.note(who_of(parts.principal), "test rule", (*stored)->name, message.id);
    parts.alert_sender.wake();
    return json_reply(json::object{{"message", message.id}}, 202);
}

}  // namespace lagtrap::server
