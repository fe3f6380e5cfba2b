// A message to people or programs, in the forms that they take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "server/store/rule_store.hpp"
#include "server/tell/rule.hpp"

namespace lagtrap::server {

struct ToldFinding {
    std::string subject, title, event, host, cause;
    std::string link;  // empty where the server's public address is not known
    std::uint64_t found_realtime_ns = 0;
    std::uint64_t ended_realtime_ns = 0;  // 0: it still is
};

struct Message {
    std::string rule;  // its name
    std::uint64_t rule_id = 0;
    Condition condition = Condition::NewCause;
    bool test = false;
    std::uint64_t at_realtime_ns = 0;
    std::vector<ToldFinding> findings;
    std::uint64_t left_out = 0;  // findings beyond these

    // A line that says it all, for a subject or a notification.
    [[nodiscard]] std::string headline() const;
    // As the store keeps it and as webhooks get it, there with the id before it.
    [[nodiscard]] std::string json_text() const;
    [[nodiscard]] static Result<Message> parse(const std::string& text);
};

// `public_url`: address of the pages without a slash at the end, or empty.
[[nodiscard]] Message message_of(const StoredRule& stored, const Rule& rule, const std::vector<KeptFinding>& news,
                                 std::uint64_t left_out, std::uint64_t at_realtime_ns, const std::string& public_url);
[[nodiscard]] Message test_message_of(const StoredRule& stored, const Rule& rule, std::uint64_t at_realtime_ns,
                                      const std::string& public_url);

[[nodiscard]] std::string webhook_body(const std::string& id, const Message& message);
[[nodiscard]] std::string slack_body(const Message& message);
// Alerts of Alertmanager's API v2. They end by themselves at `until_realtime_ns` unless they are sent again.
[[nodiscard]] std::string alertmanager_body(const Message& message, std::uint64_t until_realtime_ns);
// A mail as RFC 5322 wants it, with lines that end with CR LF.
[[nodiscard]] std::string mail_text(const std::string& id, const Message& message, const Rule& rule);

}  // namespace lagtrap::server
