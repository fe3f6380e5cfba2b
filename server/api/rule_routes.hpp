// Routes for alert rules; for admins.
#pragma once

#include "server/accounts/audit.hpp"
#include "server/alerts/alert_sender.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/rule_store.hpp"

namespace lagtrap::server {

// Dependencies of these routes.
struct RuleParts {
    RuleStore rules;
    MessageStore messages;
    Audit& audit;
    AlertSender& alert_sender;
    const Principal& principal;
};

[[nodiscard]] Reply list_rules(const RuleStore& store);
[[nodiscard]] Reply get_rule(const RuleStore& store, const MessageStore& message_store,
                             const Route& route);
[[nodiscard]] Reply add_rule(const RuleParts& parts, const Request& request);
[[nodiscard]] Reply change_rule(const RuleParts& parts, const Route& route, const Request& request);
[[nodiscard]] Reply delete_rule(const RuleParts& parts, const Route& route, const Request& request);
// Queues a message marked as a test; get_rule() shows its outcome.
[[nodiscard]] Reply test_rule(const RuleParts& parts, const Route& route);

}  // namespace lagtrap::server
