// Rules of whom to tell of what, what they found, and the messages that go out. What a rule says is for server/tell to
// know: the store keeps it as text.
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
    std::string secret;      // never given to anybody but the way that the rule tells by
    std::string changed_by;
    std::uint64_t changed_realtime_ns = 0;
    std::uint64_t since_realtime_ns = 0;  // made, or enabled again: what was before is no news

    // Its state; 0 and empty: never, nothing.
    std::uint64_t looked_realtime_ns = 0;
    std::string look_failure;  // why it could not be looked at the last time
    std::uint64_t told_realtime_ns = 0;
    std::uint64_t failed_realtime_ns = 0;  // when a message could not be delivered last
    std::string failure;
    std::uint64_t delivered = 0, given_up = 0;  // messages
};

// Something that a rule finds. It is the same as long as its subject is.
struct Finding {
    std::string subject;  // at most 1 KiB
    std::string facts;    // opaque to the store, at most 8 KiB
};

struct KeptFinding {
    Finding finding;
    std::uint64_t found_realtime_ns = 0;
    std::uint64_t ended_realtime_ns = 0;  // 0: it still is
    std::uint64_t told_realtime_ns = 0;   // 0: nobody was told yet
};

enum class MessageState : std::uint8_t { Waiting = 0, Sending = 1, Delivered = 2, GivenUp = 3 };

struct StoredMessage {
    std::string id;  // a UUID: the same whenever it is sent
    std::uint64_t rule = 0;
    bool test = false;
    std::string body;  // opaque to the store
    std::uint64_t made_realtime_ns = 0;
    MessageState state = MessageState::Waiting;
    std::uint32_t attempts = 0;             // with the one that begins
    std::uint64_t next_realtime_ns = 0;     // when it is tried again, while it waits
    std::uint64_t settled_realtime_ns = 0;  // delivered, or given up
    std::string reason;                     // why the last attempt failed
    std::string lease;                      // proves to settle_message() that it is still ours
};

// One look at what a rule is about.
struct RuleLook {
    std::uint64_t rule = 0;
    std::uint64_t changed_realtime_ns = 0;  // of the rule that was looked at
    std::uint64_t at_realtime_ns = 0;
    bool may_tell = true;             // no quiet hour
    bool tells_ends = false;          // that a finding ended is news
    std::uint64_t ends_after_ns = 0;  // a finding has ended when no look found it for so long
    std::uint64_t repeat_ns = 0;      // what is told is told again after so long; 0: never
    std::size_t findings_limit = 50;
    std::vector<Finding> found;
};

// The body of a message about findings, of which `left_out` more have no place in it.
using ComposeMessage = std::function<std::string(const std::vector<KeptFinding>& news, std::uint64_t left_out)>;

struct MessageCounts {
    std::uint64_t waiting = 0;
    std::uint64_t unwell_rules = 0;  // whose last attempt failed
};

// As for RunStore.
class RuleStore {
  public:
    RuleStore() = default;
    RuleStore(const RuleStore&) = delete;
    RuleStore& operator=(const RuleStore&) = delete;
    virtual ~RuleStore() = default;

    // Gives the id; nothing if the name is taken. ErrorKind::TooLarge beyond rules_limit.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> add_rule(const StoredRule& rule) = 0;
    enum class RuleChange { Done, NoSuchRule, NameTaken };
    // Replaces name, enabled, definition and secret. `forget`: what it found is forgotten, as its condition is another.
    [[nodiscard]] virtual Result<RuleChange> change_rule(const StoredRule& rule, bool forget) = 0;
    // With its findings and messages; false if there was none.
    [[nodiscard]] virtual Result<bool> remove_rule(std::uint64_t id) = 0;
    [[nodiscard]] virtual Result<std::vector<StoredRule>> rules() = 0;  // by name
    [[nodiscard]] virtual Result<std::optional<StoredRule>> find_rule(std::uint64_t id) = 0;
    // Those that still are, the newest first; then those that ended. At most 200.
    [[nodiscard]] virtual Result<std::vector<KeptFinding>> findings(std::uint64_t rule) = 0;
    // The newest first, at most 20.
    [[nodiscard]] virtual Result<std::vector<StoredMessage>> messages(std::uint64_t rule) = 0;

    // An enabled rule that no server has looked at for `interval`; it is this one's to look at now.
    [[nodiscard]] virtual Result<std::optional<StoredRule>> take_rule(std::uint64_t now_realtime_ns,
                                                                      std::chrono::nanoseconds interval) = 0;
    // Keeps what a look found, and, unless a message of the rule still waits, makes one of what is news: findings that
    // nobody was told of, those that ended, those whose time to be repeated has come. Of a finding there is one message,
    // whichever servers look. Whether there is a new message. A look that is older than the last one, or at a rule that was
    // changed since, changes nothing.
    [[nodiscard]] virtual Result<bool> note_findings(const RuleLook& look, const ComposeMessage& compose) = 0;
    // The rule could not be looked at.
    [[nodiscard]] virtual Status note_look_failure(std::uint64_t rule, const std::string& reason) = 0;

    // To be sent as it is; false if there is no such rule, or a test of it waits already.
    [[nodiscard]] virtual Result<bool> add_test_message(const StoredMessage& message) = 0;
    // The message that waits longest, of an enabled rule or a test. It is nobody else's until the lease is over.
    [[nodiscard]] virtual Result<std::optional<StoredMessage>> take_message(std::uint64_t now_realtime_ns,
                                                                            std::chrono::nanoseconds lease) = 0;
    // What became of an attempt: Delivered, GivenUp, or Waiting until next_realtime_ns. False if the lease went to
    // somebody else, or the rule is gone.
    [[nodiscard]] virtual Result<bool> settle_message(const StoredMessage& message, std::uint64_t now_realtime_ns) = 0;
    [[nodiscard]] virtual Result<MessageCounts> message_counts() = 0;

    // When something came from each host last; those of the last 30 days.
    struct HostSign {
        std::string host;
        std::uint64_t last_realtime_ns = 0;
    };
    [[nodiscard]] virtual Result<std::vector<HostSign>> signs_of_hosts(std::uint64_t now_realtime_ns) = 0;
};

}  // namespace lagtrap::server
