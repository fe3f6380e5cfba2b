#include "server/alerts/delivery.hpp"

#include <algorithm>

#include "server/alerts/message.hpp"
#include "server/alerts/signature.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t first_pause_ns = 5 * second_ns;
constexpr std::uint64_t max_pause_ns = 3600 * second_ns;
constexpr std::uint64_t tried_for_ns = 86'400 * second_ns;

std::string without_slash(std::string address) {
    while (address.ends_with('/')) address.pop_back();
    return address;
}

Outgoing webhook_of(const StoredMessage& stored, const Message& message, const Rule& rule,
                    const std::string& secret, std::uint64_t now_ns) {
    Outgoing outgoing{.url = rule.address, .body = webhook_body(stored.id, message)};
    const std::uint64_t now_s = now_ns / second_ns;
    outgoing.headers = {
        "Content-Type: application/json", "webhook-id: " + stored.id,
        "webhook-timestamp: " + std::to_string(now_s),
        "webhook-signature: " + webhook_signature(secret, stored.id, now_s, outgoing.body)};
    return outgoing;
}

Outgoing alert_of(const Message& message, const Rule& rule, const std::string& secret,
                  std::uint64_t now_ns) {
    Outgoing outgoing{.url = without_slash(rule.address) + "/api/v2/alerts",
                      .body = alertmanager_body(message, now_ns + alert_lasts_ns)};
    outgoing.headers = {"Content-Type: application/json"};
    if (!rule.user.empty()) {
        outgoing.user = rule.user;
        outgoing.password = secret;
    } else if (!secret.empty()) {
        outgoing.headers.push_back("Authorization: Bearer " + secret);
    }
    return outgoing;
}

}  // namespace

Result<Outgoing> outgoing_of(const StoredMessage& stored, const Rule& rule,
                             const std::string& secret, std::uint64_t now_ns) {
    TRY_ASSIGN(const Message message, Message::parse(stored.body));
    switch (rule.way) {
        case Way::Webhook: return webhook_of(stored, message, rule, secret, now_ns);
        case Way::Alertmanager: return alert_of(message, rule, secret, now_ns);
        case Way::Slack:
            return Outgoing{.url = secret,
                            .headers = {"Content-Type: application/json"},
                            .body = slack_body(message)};
        case Way::Email: break;
    }
    return Outgoing{.url = rule.address,
                    .body = mail_text(stored.id, message, rule),
                    .user = rule.user,
                    .password = secret,
                    .mail_from = rule.from,
                    .mail_to = rule.to};
}

std::optional<std::uint64_t> next_attempt_ns(const StoredMessage& message, std::uint64_t now_ns) {
    if (message.test || now_ns >= message.made_realtime_ns + tried_for_ns) return std::nullopt;
    std::uint64_t pause_ns = first_pause_ns;
    for (std::uint32_t i = 1; i < message.attempts && pause_ns < max_pause_ns; ++i) pause_ns *= 3;
    return now_ns + std::min(pause_ns, max_pause_ns);
}

}  // namespace lagtrap::server
