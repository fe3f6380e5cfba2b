// An alert message and its forms for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "server/alerts/rule.hpp"
#include "server/store/rule_store.hpp"

namespace lagtrap::server {

struct ReportedFinding {
    std::string subject, title, event, host, cause;
    std::string link;  // empty if the server's public address is unknown
    std::uint64_t found_realtime_ns = 0;
    std::uint64_t ended_realtime_ns = 0;  // 0: still ongoing
};

struct Message {
    std::string rule;  // its name
    std::uint64_t rule_id = 0;
    Condition condition = Condition::NewCause;
    bool test = false;
    std::uint64_t at_realtime_ns = 0;
    std::vector<ReportedFinding> findings;
    std::uint64_t left_out = 0;  // further findings, not listed

    // One line for a subject or a notification.
    [[nodiscard]] std::string headline() const;
    // As stored, and as sent to webhooks, which get it with the id added.
    [[nodiscard]] std::string json_text() const;
    [[nodiscard]] static Result<Message> parse(const std::string& text);
};

// `public_url` is the address of the pages without a trailing slash; may be empty.
[[nodiscard]] Message message_of(const StoredRule& stored, const Rule& rule,
                                 const std::vector<KeptFinding>& news, std::uint64_t left_out,
                                 std::uint64_t at_realtime_ns, const std::string& public_url);
[[nodiscard]] Message test_message_of(const StoredRule& stored, const Rule& rule,
                                      std::uint64_t at_realtime_ns, const std::string& public_url);

[[nodiscard]] std::string webhook_body(const std::string& id, const Message& message);
[[nodiscard]] std::string slack_body(const Message& message);
// Alerts for Alertmanager's API v2. They expire at `until_realtime_ns` unless sent again.
[[nodiscard]] std::string alertmanager_body(const Message& message,
                                            std::uint64_t until_realtime_ns);
// A mail (RFC 5322) with CRLF line ends.
[[nodiscard]] std::string mail_text(const std::string& id, const Message& message,
                                    const Rule& rule);

}  // namespace lagtrap::server
