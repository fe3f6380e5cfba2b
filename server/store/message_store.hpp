// Stores outgoing messages of alert rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

class SqlSession;

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
    // proves to settle_message() that this server still holds it
    std::string lease;
};

struct MessageCounts {
    std::uint64_t waiting = 0;
    std::uint64_t unwell_rules = 0;  // whose last attempt failed
};

// The rules of Store apply.
class MessageStore {
  public:
    explicit MessageStore(SqlSession& session) : session_(&session) {}

    // Newest first, at most 20.
    [[nodiscard]] Result<std::vector<StoredMessage>> of_rule(std::uint64_t rule) const;
    // Queues a message unchanged; false if there is no such rule, or one of its test messages is
    // already waiting.
    [[nodiscard]] Result<bool> add_test_message(const StoredMessage& message) const;
    // Takes the message that has waited longest, of an enabled rule or a test. Other servers cannot
    // take it until the lease ends.
    [[nodiscard]] Result<std::optional<StoredMessage>> take_message(
        std::uint64_t now_realtime_ns, std::chrono::nanoseconds lease) const;
    // Records the outcome of an attempt: Delivered, GivenUp, or Waiting until next_realtime_ns.
    // False if another server has the lease, or the rule is gone.
    [[nodiscard]] Result<bool> settle_message(const StoredMessage& message,
                                              std::uint64_t now_realtime_ns) const;
    [[nodiscard]] Result<MessageCounts> message_counts() const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
