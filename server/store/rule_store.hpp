// Stores alert rules and their findings. The store keeps a rule's definition as text; server/alerts
// interprets it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

class SqlSession;

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
    // creation or last enabling; earlier events are not reported
    std::uint64_t since_realtime_ns = 0;

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

// One evaluation of a rule.
struct RuleLook {
    std::uint64_t rule = 0;
    std::uint64_t changed_realtime_ns = 0;  // of the rule as evaluated
    std::uint64_t at_realtime_ns = 0;
    bool may_report = true;     // not in quiet hours
    bool reports_ends = false;  // report when a finding ends
    // a finding ends when no evaluation has found it for this time
    std::uint64_t ends_after_ns = 0;
    std::uint64_t repeat_ns = 0;  // interval of repeating a report; 0: never
    std::size_t findings_limit = 50;
    std::vector<Finding> found;
};

// Composes the body of a message about `news`; `left_out` more findings are not listed.
using ComposeMessage =
    std::function<std::string(const std::vector<KeptFinding>& news, std::uint64_t left_out)>;

// The rules of Store apply.
class RuleStore {
  public:
    explicit RuleStore(SqlSession& session) : session_(&session) {}

    // Returns the id; nullopt if the name is taken. ErrorKind::TooLarge beyond rules_limit.
    [[nodiscard]] Result<std::optional<std::uint64_t>> add_rule(const StoredRule& rule) const;
    enum class RuleChange { Done, NoSuchRule, NameTaken };
    // Replaces name, enabled, definition and secret. `forget` removes its findings, because its
    // condition changed.
    [[nodiscard]] Result<RuleChange> change_rule(const StoredRule& rule, bool forget) const;
    // Also removes its findings and messages; false if there was none.
    [[nodiscard]] Result<bool> remove_rule(std::uint64_t id) const;
    [[nodiscard]] Result<std::vector<StoredRule>> list() const;  // by name
    [[nodiscard]] Result<std::optional<StoredRule>> find_rule(std::uint64_t id) const;
    // Ongoing ones first, newest first; then ended ones. At most 200.
    [[nodiscard]] Result<std::vector<KeptFinding>> findings(std::uint64_t rule) const;
    // Takes an enabled rule that no server has evaluated for `interval`, for this server to
    // evaluate.
    [[nodiscard]] Result<std::optional<StoredRule>> take_rule(
        std::uint64_t now_realtime_ns, std::chrono::nanoseconds interval) const;
    // Stores the findings of an evaluation. Unless a message of the rule is still waiting, queues
    // one about news: findings not reported yet, findings that ended, and findings due to be
    // repeated. Each finding is reported once, however many servers evaluate the rule. Returns
    // whether there is a new message. An evaluation that is older than the last one, or of a rule
    // that has changed since, changes nothing.
    [[nodiscard]] Result<bool> note_findings(const RuleLook& look,
                                             const ComposeMessage& compose) const;
    // Records that the rule could not be evaluated.
    [[nodiscard]] Status note_look_failure(std::uint64_t rule, const std::string& reason) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
