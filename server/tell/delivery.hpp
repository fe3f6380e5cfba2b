// A message on its way: what is sent for it, and when it is tried again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "server/store/rule_store.hpp"
#include "server/tell/rule.hpp"
#include "server/tell/sender.hpp"

namespace lagtrap::server {

// Alertmanager forgets what is not sent again.
inline constexpr std::uint64_t alert_repeat_ns = 300ULL * 1'000'000'000ULL;
inline constexpr std::uint64_t alert_lasts_ns = 3 * alert_repeat_ns;

// `secret` as StoredRule has it.
[[nodiscard]] Result<Outgoing> outgoing_of(const StoredMessage& stored, const Rule& rule, const std::string& secret,
                                           std::uint64_t now_ns);

// When a message is tried again after so many attempts: 5 s after the first, three times as long after each, at most an
// hour. Nothing: it is given up, a day after it was made, and a test at once.
[[nodiscard]] std::optional<std::uint64_t> next_attempt_ns(const StoredMessage& message, std::uint64_t now_ns);

}  // namespace lagtrap::server
