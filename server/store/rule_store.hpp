// Stores alert rules, their findings, and outgoing messages. The store keeps a rule's definition as
// text; server/alerts interprets it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

inline constexpr std::uint32_t rules_limit = 100;
inline constexpr std::size_t rule_name_limit_bytes = 64;

struct StoredRule {
    std::uint64_t id = 0;
    std::string name;
    bool enabled = true;
    std::string definition;  // opaque to the store, at most 16 KiB
    std::string secret;      // never shown; only used to send messages
    std::string changed_by;
    std::uint64_t changed_realtime_ns = 0;
    std::uint64_t since_realtime_ns = 0;  // creation or last enabling; earlier events are not reported

    // Its state. 0 or empty: never, or none.
    std::uint64_t looked_realtime_ns = 0;
    std::string look_failure;  // why the last evaluation failed
    std::uint64_t reported_realtime_ns = 0;
    std::uint64_t failed_realtime_ns = 0;  // last failure to deliver a message
    std::string failure;
    std::uint64_t delivered = 0, given_up = 0;  // messages
};

// Something that a rule found. Findings with the same subject are the same finding.
struct Finding {
    std::string subject;  // at most 1 KiB
    std::string facts;    // opaque to the store, at most 8 KiB
};

struct KeptFinding {
    Finding finding;
    std::uint64_t found_realtime_ns = 0;
    std::uint64_t ended_realtime_ns = 0;     // 0: ongoing
    std::uint64_t reported_realtime_ns = 0;  // 0: not reported yet
};

enum class MessageState : std::uint8_t { Waiting = 0, Sending = 1, Delivered = 2, GivenUp = 3 };

struct StoredMessage {
    std::string id;  // a UUID, the same in all attempts
    std::uint64_t rule = 0;
    bool test = false;
    std::string body;  // opaque to the store
    std::uint64_t made_realtime_ns = 0;
    MessageState state = MessageState::Waiting;
    std::uint32_t attempts = 0;             // including the current one
    std::uint64_t next_realtime_ns = 0;     // time of the next attempt, while it waits
    std::uint64_t settled_realtime_ns = 0;  // when it was delivered or given up
    std::string reason;                     // why the last attempt failed
    std::string lease;                      // proves to settle_message() that this server still holds it
};

// One evaluation of a rule.
struct RuleLook {
    std::uint64_t rule = 0;
    std::uint64_t changed_realtime_ns = 0;  // of the rule as evaluated
    std::uint64_t at_realtime_ns = 0;
    bool may_report = true;           // not in quiet hours
    bool reports_ends = false;        // report when a finding ends
    std::uint64_t ends_after_ns = 0;  // a finding ends when no evaluation has found it for this time
    std::uint64_t repeat_ns = 0;      // interval of repeating a report; 0: never
    std::size_t findings_limit = 50;
    std::vector<Finding> found;
};

// Composes the body of a message about `news`; `left_out` more findings are not listed.
using ComposeMessage = std::function<std::string(const std::vector<KeptFinding>& news, std::uint64_t left_out)>;

struct MessageCounts {
    std::uint64_t waiting = 0;
    std::uint64_t unwell_rules = 0;  // whose last attempt failed
};

// The rules of RunStore apply.
class RuleStore {
  public:
    RuleStore() = default;
    RuleStore(const RuleStore&) = delete;
    RuleStore& operator=(const RuleStore&) = delete;
    virtual ~RuleStore() = default;

    // Returns the id; nullopt if the name is taken. ErrorKind::TooLarge beyond rules_limit.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> add_rule(const StoredRule& rule) = 0;
    enum class RuleChange { Done, NoSuchRule, NameTaken };
    // Replaces name, enabled, definition and secret. `forget` removes its findings, because its
    // condition changed.
    [[nodiscard]] virtual Result<RuleChange> change_rule(const StoredRule& rule, bool forget) = 0;
    // Also removes its findings and messages; false if there was none.
    [[nodiscard]] virtual Result<bool> remove_rule(std::uint64_t id) = 0;
    [[nodiscard]] virtual Result<std::vector<StoredRule>> rules() = 0;  // by name
    [[nodiscard]] virtual Result<std::optional<StoredRule>> find_rule(std::uint64_t id) = 0;
    // Ongoing ones first, newest first; then ended ones. At most 200.
    [[nodiscard]] virtual Result<std::vector<KeptFinding>> findings(std::uint64_t rule) = 0;
    // Newest first, at most 20.
    [[nodiscard]] virtual Result<std::vector<StoredMessage>> messages(std::uint64_t rule) = 0;

    // Takes an enabled rule that no server has evaluated for `interval`, for this server to
    // evaluate.
    [[nodiscard]] virtual Result<std::optional<StoredRule>> take_rule(std::uint64_t now_realtime_ns,
                                                                      std::chrono::nanoseconds interval) = 0;
    // Stores the findings of an evaluation. Unless a message of the rule is still waiting, queues
    // one about news: findings not reported yet, findings that ended, and findings due to be
    // repeated. Each finding is reported once, however many servers evaluate the rule. Returns
    // whether there is a new message. An evaluation that is older than the last one, or of a rule
    // that has changed since, changes nothing.
    [[nodiscard]] virtual Result<bool> note_findings(const RuleLook& look, const ComposeMessage& compose) = 0;
    // Records that the rule could not be evaluated.
    [[nodiscard]] virtual Status note_look_failure(std::uint64_t rule, const std::string& reason) = 0;

    // Queues a message unchanged; false if there is no such rule, or one of its test messages is
    // already waiting.
    [[nodiscard]] virtual Result<bool> add_test_message(const StoredMessage& message) = 0;
    // Takes the message that has waited longest, of an enabled rule or a test. Other servers cannot
    // take it until the lease ends.
    [[nodiscard]] virtual Result<std::optional<StoredMessage>> take_message(std::uint64_t now_realtime_ns,
                                                                            std::chrono::nanoseconds lease) = 0;
    // Records the outcome of an attempt: Delivered, GivenUp, or Waiting until next_realtime_ns.
    // False if another server has the lease, or the rule is gone.
    [[nodiscard]] virtual Result<bool> settle_message(const StoredMessage& message, std::uint64_t now_realtime_ns) = 0;
    [[nodiscard]] virtual Result<MessageCounts> message_counts() = 0;

    // When each host last sent something, within the last 30 days.
    struct HostSign {
        std::string host;
        std::uint64_t last_realtime_ns = 0;
    };
    [[nodiscard]] virtual Result<std::vector<HostSign>> signs_of_hosts(std::uint64_t now_realtime_ns) = 0;
};

}  // namespace lagtrap::server
