#include "server/store/message_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/rules_fixture.hpp"

namespace lagtrap::server::message_store_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class MessageStoreTest : public RulesStoreTest {
  protected:
    static StoredMessage test_message(std::uint64_t rule, const std::string& id,
                                      std::uint64_t made_ns = monday) {
        StoredMessage message;
        message.id = id;
        message.rule = rule;
        message.body = "body of " + id;
        message.made_realtime_ns = made_ns;
        return message;
    }
    bool add(const StoredMessage& message) {
        return must(store_->messages().add_test_message(message));
    }
    StoredMessage newest(const StoredRule& rule) {
        const auto messages = must(store_->messages().of_rule(rule.id));
        EXPECT_FALSE(messages.empty());
        return messages.empty() ? StoredMessage{} : messages[0];
    }
    StoredRule state_of(const StoredRule& rule) {
        return must(store_->rules().find_rule(rule.id)).value();
    }
};

TEST_F(MessageStoreTest, AMessageSaysWhatBecameOfIt) {
    const StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday + 3, {{"a", ""}})), "a, ");
    StoredMessage message = newest(made);
    EXPECT_EQ(message.rule, made.id);
    EXPECT_FALSE(message.test);
    EXPECT_EQ(message.body, "a, ");
    EXPECT_EQ(message.made_realtime_ns, monday + 3);
    EXPECT_EQ(message.state, MessageState::Waiting);
    EXPECT_EQ(message.attempts, 0U);
    EXPECT_EQ(message.lease, "");
    const std::string id = message.id;
    StoredMessage taken = take(monday + 4).value();
    EXPECT_EQ(taken.id, id);
    EXPECT_EQ(taken.attempts, 1U);
    EXPECT_NE(taken.lease, "");
    EXPECT_EQ(newest(made).state, MessageState::Sending);
    EXPECT_EQ(newest(made).attempts, 1U);
    taken.next_realtime_ns = monday + 60;
    taken.reason =
        "re\x1b"
        "fused";
    settle(taken, MessageState::Waiting, monday + 5);
    message = newest(made);
    EXPECT_EQ(message.state, MessageState::Waiting);
    EXPECT_EQ(message.next_realtime_ns, monday + 60);
    EXPECT_EQ(message.settled_realtime_ns, 0U);
    EXPECT_EQ(message.reason,
              "re\\x1b"
              "fused");
    EXPECT_EQ(message.lease, "");
    taken = take(monday + 60).value();
    taken.reason = "";
    settle(taken, MessageState::Delivered, monday + 61);
    message = newest(made);
    EXPECT_EQ(message.state, MessageState::Delivered);
    EXPECT_EQ(message.next_realtime_ns, 0U);
    EXPECT_EQ(message.settled_realtime_ns, monday + 61);
    EXPECT_EQ(message.attempts, 2U);
    EXPECT_EQ(message.reason, "");
    EXPECT_FALSE(must(store_->messages().settle_message(taken, monday + 62))) << "once";
}

TEST_F(MessageStoreTest, TheRuleCountsDeliveriesAndFailures) {
    const StoredRule made = rule();
    note(look_at(made, monday, {{"a", ""}}));
    StoredMessage taken = take(monday).value();
    taken.reason = "refused";
    taken.next_realtime_ns = monday + 1;
    settle(taken, MessageState::Waiting, monday + 1);
    EXPECT_EQ(state_of(made).failure, "refused");
    EXPECT_EQ(state_of(made).failed_realtime_ns, monday + 1);
    EXPECT_EQ(state_of(made).given_up, 0U);
    taken = take(monday + 2).value();
    taken.reason = "again";
    settle(taken, MessageState::GivenUp, monday + 2);
    EXPECT_EQ(state_of(made).failure, "again");
    EXPECT_EQ(state_of(made).failed_realtime_ns, monday + 2);
    EXPECT_EQ(state_of(made).given_up, 1U);
    EXPECT_EQ(state_of(made).reported_realtime_ns, 0U);
    EXPECT_EQ(state_of(made).delivered, 0U);
    EXPECT_EQ(newest(made).settled_realtime_ns, monday + 2);
    EXPECT_EQ(must(store_->messages().message_counts()).unwell_rules, 1U);
    // A test that arrives clears the failure, but is no report.
    ASSERT_TRUE(add(test_message(made.id, "test")));
    deliver(monday + 3);
    EXPECT_EQ(state_of(made).failure, "");
    EXPECT_EQ(state_of(made).delivered, 1U);
    EXPECT_EQ(state_of(made).reported_realtime_ns, 0U);
    EXPECT_EQ(must(store_->messages().message_counts()).unwell_rules, 0U);
    note(look_at(made, monday + 4, {{"b", ""}}));
    deliver(monday + 5);
    EXPECT_EQ(state_of(made).reported_realtime_ns, monday + 5);
    EXPECT_EQ(state_of(made).delivered, 2U);
}

TEST_F(MessageStoreTest, TheOneThatIsDueLongestIsSentFirst) {
    const StoredRule a = rule("a"), b = rule("b"), c = rule("c");
    ASSERT_TRUE(add(test_message(a.id, "late", monday + 2)));
    ASSERT_TRUE(add(test_message(b.id, "y", monday + 1)));
    ASSERT_TRUE(add(test_message(c.id, "x", monday + 1)));
    StoredMessage first = take(monday).value();
    EXPECT_EQ(first.id, "x");
    EXPECT_EQ(first.body, "body of x");
    first.next_realtime_ns = monday + 10;
    settle(first, MessageState::Waiting, monday);
    EXPECT_EQ(take(monday + 20)->id, "y");
    EXPECT_EQ(take(monday + 20)->id, "late");
    EXPECT_EQ(take(monday + 20)->id, "x") << "a retry waits for those never tried";
    EXPECT_FALSE(take(monday + 20).has_value());
}

TEST_F(MessageStoreTest, ALeaseLastsUntilItsEnd) {
    const StoredRule made = rule();
    ASSERT_TRUE(add(test_message(made.id, "test")));
    const StoredMessage first = take(monday).value();
    EXPECT_FALSE(take(monday + 60 * second - 1).has_value());
    const StoredMessage other = take(monday + 60 * second).value();
    EXPECT_NE(other.lease, first.lease);
    EXPECT_EQ(other.attempts, 2U);
}

TEST_F(MessageStoreTest, ATestWaitsAlone) {
    const StoredRule made = rule(), other = rule("other");
    ASSERT_TRUE(add(test_message(made.id, "1")));
    ASSERT_TRUE(add(test_message(other.id, "2"))) << "of another rule";
    const StoredMessage taken = take(monday).value();
    EXPECT_EQ(taken.id, "1");
    EXPECT_FALSE(add(test_message(made.id, "3"))) << "the first is being sent";
    settle(taken, MessageState::GivenUp, monday);
    EXPECT_TRUE(add(test_message(made.id, "3")));
    EXPECT_TRUE(newest(made).test);
}

TEST_F(MessageStoreTest, TheNewestTwentyAreShownAndDeliveriesRemoveOlderOnesThanFifty) {
    const StoredRule made = rule(), other = rule("other");
    ASSERT_TRUE(add(test_message(other.id, "other", monday - 1)));
    deliver(monday);
    for (std::uint64_t i = 1; i <= 53; ++i) {
        ASSERT_TRUE(add(test_message(made.id, "message " + std::to_string(i), monday + i)));
        deliver(monday + i);
    }
    const auto shown = must(store_->messages().of_rule(made.id));
    ASSERT_THAT(shown, SizeIs(20));
    EXPECT_EQ(shown[0].id, "message 53");
    EXPECT_EQ(shown[19].id, "message 34");
    EXPECT_TRUE(holds("(SELECT min(made_ns) FROM tell_message WHERE rule = " +
                      std::to_string(made.id) + ") = " + std::to_string(monday + 3)));
    EXPECT_THAT(must(store_->messages().of_rule(other.id)), SizeIs(1));
}

TEST_F(MessageStoreTest, CountsMessagesThatAreNotSettled) {
    const StoredRule a = rule("a"), b = rule("b");
    ASSERT_TRUE(add(test_message(a.id, "1")));
    ASSERT_TRUE(add(test_message(b.id, "2")));
    EXPECT_EQ(must(store_->messages().message_counts()).waiting, 2U);
    const StoredMessage taken = take(monday).value();
    EXPECT_EQ(must(store_->messages().message_counts()).waiting, 2U);
    settle(taken, MessageState::GivenUp, monday);
    EXPECT_EQ(must(store_->messages().message_counts()).waiting, 1U);
    EXPECT_EQ(must(store_->messages().message_counts()).unwell_rules, 0U)
        << "without a reason, nothing is wrong";
}

}  // namespace
}  // namespace lagtrap::server::message_store_test
