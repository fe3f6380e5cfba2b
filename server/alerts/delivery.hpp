// Delivers messages: what to send, and when to retry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "server/alerts/rule.hpp"
#include "server/alerts/sender.hpp"
#include "server/store/message_store.hpp"
#include "server/store/rule_store.hpp"

namespace lagtrap::server {

// Alertmanager resolves alerts that are not repeated.
inline constexpr std::uint64_t alert_repeat_ns = 300ULL * 1'000'000'000ULL;
inline constexpr std::uint64_t alert_lasts_ns = 3 * alert_repeat_ns;

// `secret` is that of StoredRule.
[[nodiscard]] Result<Outgoing> outgoing_of(const StoredMessage& stored, const Rule& rule,
                                           const std::string& secret, std::uint64_t now_ns);

// When to retry after this number of attempts: 5 s after the first, then three times the last
// pause, at most an hour. nullopt once the message is a day old (a test message: at once).
[[nodiscard]] std::optional<std::uint64_t> next_attempt_ns(const StoredMessage& message,
                                                           std::uint64_t now_ns);

}  // namespace lagtrap::server
