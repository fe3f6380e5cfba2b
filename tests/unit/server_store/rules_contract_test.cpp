#include <gmock/gmock.h>

#include "tests/unit/server_store/rules_fixture.hpp"

namespace lagtrap::server::rules_contract_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using RulesContract = RulesStoreTest;

TEST_F(RulesContract, AreKeptChangedAndRemoved) {
    StoredRule first = rule();
    EXPECT_FALSE(must(store_->rules().add_rule(first)).has_value()) << "the name is taken";
    const StoredRule second = rule("days");
    reopen();
    ASSERT_THAT(must(store_->rules().list()), SizeIs(2));
    EXPECT_EQ(must(store_->rules().list())[0].name, "days");
    first.name = "days";
    EXPECT_EQ(must(store_->rules().change_rule(first, false)), RuleStore::RuleChange::NameTaken);
    first.name = "mornings";
    first.enabled = false;
    first.changed_realtime_ns = monday + hour;
    EXPECT_EQ(must(store_->rules().change_rule(first, false)), RuleStore::RuleChange::Done);
    EXPECT_EQ(must(store_->rules().find_rule(first.id))->since_realtime_ns, monday);
    first.enabled = true;
    first.changed_realtime_ns = monday + 2 * hour;
    EXPECT_EQ(must(store_->rules().change_rule(first, false)), RuleStore::RuleChange::Done);
    const auto found = must(store_->rules().find_rule(first.id));
    EXPECT_EQ(found->since_realtime_ns, monday + 2 * hour);
    EXPECT_EQ(found->secret, "hidden");
    EXPECT_TRUE(must(store_->rules().remove_rule(second.id)));
    EXPECT_FALSE(must(store_->rules().remove_rule(second.id)));
    EXPECT_FALSE(must(store_->rules().find_rule(second.id)).has_value());
    EXPECT_EQ(must(store_->rules().change_rule(second, false)), RuleStore::RuleChange::NoSuchRule);
}

TEST_F(RulesContract, AreLimitedInNumber) {
    for (std::uint32_t i = 0; i < rules_limit; ++i) rule("rule " + std::to_string(i));
    StoredRule one_more;
    one_more.name = "one more";
    const auto refused = store_->rules().add_rule(one_more);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
}

TEST_F(RulesContract, AreLookedAtByOneServerEachInterval) {
    const StoredRule made = rule();
    const auto minute = std::chrono::minutes(1);
    EXPECT_EQ(must(store_->rules().take_rule(monday, minute))->id, made.id);
    EXPECT_FALSE(must(store_->rules().take_rule(monday + 59 * second, minute)).has_value());
    EXPECT_TRUE(must(store_->rules().take_rule(monday + 60 * second, minute)).has_value());
    StoredRule off = made;
    off.enabled = false;
    ASSERT_EQ(must(store_->rules().change_rule(off, false)), RuleStore::RuleChange::Done);
    EXPECT_FALSE(must(store_->rules().take_rule(monday + hour, minute)).has_value());
}

TEST_F(RulesContract, AFindingIsToldOnceAndManyInOneMessage) {
    const StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday, {{"a", "1"}, {"b", "1"}})), "a, b, ");
    deliver(monday);
    reopen();
    EXPECT_EQ(note(look_at(made, monday + hour, {{"a", "2"}, {"b", "2"}, {"c", "1"}})), "c, ");
    const auto kept = must(store_->rules().findings(made.id));
    ASSERT_THAT(kept, SizeIs(3));
    EXPECT_EQ(kept[0].finding.subject, "c");
    EXPECT_EQ(kept[1].finding.facts, "2") << "what is shown is the newest";
    EXPECT_EQ(kept[1].found_realtime_ns, monday);
}

TEST_F(RulesContract, TwoServersThatLookAtOnceTellOnce) {
    const StoredRule made = rule();
    // An SQLite file has one server, with several threads.
    const auto second_server = backend_->takes_several_servers() ? must(backend_->open()) : nullptr;
    Store* const other = second_server ? second_server.get() : store_.get();
    EXPECT_EQ(note(*other, look_at(made, monday, {{"a", "1"}})), "a, ");
    EXPECT_EQ(note(look_at(made, monday, {{"a", "1"}})), "");
    EXPECT_THAT(must(store_->messages().of_rule(made.id)), SizeIs(1));
    const auto taken = must(other->messages().take_message(monday, std::chrono::seconds(60)));
    ASSERT_TRUE(taken.has_value());
    EXPECT_FALSE(take(monday).has_value());
}

TEST_F(RulesContract, WhatComesWhileAMessageWaitsOrInQuietHoursIsToldTogetherLater) {
    const StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    EXPECT_EQ(note(look_at(made, monday + second, {{"a", ""}, {"b", ""}})), "")
        << "the first is not delivered yet";
    deliver(monday + second);
    RuleLook quiet = look_at(made, monday + 2 * second, {{"a", ""}, {"b", ""}, {"c", ""}});
    quiet.may_report = false;
    EXPECT_EQ(note(quiet), "");
    EXPECT_EQ(note(look_at(made, monday + 3 * second, {{"b", ""}, {"d", ""}})), "b, c over, d, ");
}

TEST_F(RulesContract, EndsAreToldWhereWanted) {
    const StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    deliver(monday);
    RuleLook gone = look_at(made, monday + hour, {});
    gone.reports_ends = true;
    gone.ends_after_ns = 2 * hour;
    EXPECT_EQ(note(gone), "") << "it may come back";
    gone.at_realtime_ns = monday + 2 * hour;
    EXPECT_EQ(note(gone), "a over, ");
    deliver(monday + 2 * hour);
    gone.at_realtime_ns = monday + 3 * hour;
    EXPECT_EQ(note(gone), "");
    // A finding that returns counts as new.
    EXPECT_EQ(note(look_at(made, monday + 4 * hour, {{"a", ""}})), "a, ");
    deliver(monday + 4 * hour);
    EXPECT_EQ(note(look_at(made, monday + 5 * hour, {})), "") << "this look wants no ends";
}

TEST_F(RulesContract, IsRepeatedAsLongAsItStays) {
    const StoredRule made = rule();
    const auto at = [&](std::uint64_t at_ns) {
        RuleLook look = look_at(made, at_ns, {{"a", ""}});
        look.repeat_ns = hour;
        return look;
    };
    EXPECT_EQ(note(at(monday)), "a, ");
    deliver(monday);
    EXPECT_EQ(note(at(monday + hour - 1)), "");
    EXPECT_EQ(note(at(monday + hour)), "a, ");
}

TEST_F(RulesContract, AMessageHasALimit) {
    const StoredRule made = rule();
    RuleLook look = look_at(made, monday, {{"a", ""}, {"b", ""}, {"c", ""}});
    look.findings_limit = 2;
    EXPECT_EQ(note(look), "a, b, 1 more");
    deliver(monday);
    EXPECT_EQ(note(look_at(made, monday + second, {{"a", ""}, {"b", ""}, {"c", ""}})), "");
}

TEST_F(RulesContract, LooksThatAreTooLateChangeNothing) {
    StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday + second, {})), "");
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "") << "older than the last look";
    const StoredRule before = made;
    made.changed_realtime_ns = monday + hour;
    ASSERT_EQ(must(store_->rules().change_rule(made, true)), RuleStore::RuleChange::Done);
    EXPECT_EQ(note(look_at(before, monday + 2 * hour, {{"a", ""}})), "")
        << "the rule is another now";
    EXPECT_EQ(note(look_at(made, monday + 2 * hour, {{"a", ""}})), "a, ");
    made.changed_realtime_ns = monday + 3 * hour;
    ASSERT_EQ(must(store_->rules().change_rule(made, true)), RuleStore::RuleChange::Done);
    EXPECT_THAT(must(store_->rules().findings(made.id)), IsEmpty());
}

TEST_F(RulesContract, AMessageIsTriedAgainUnderItsIdUntilItIsSettled) {
    const StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    auto first = take(monday);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->attempts, 1U);
    EXPECT_EQ(first->body, "a, ");
    EXPECT_FALSE(take(monday + second).has_value()) << "it is being sent";
    StoredMessage failed = *first;
    failed.state = MessageState::Waiting;
    failed.reason = "refused";
    failed.next_realtime_ns = monday + 10 * second;
    EXPECT_TRUE(must(store_->messages().settle_message(failed, monday + second)));
    EXPECT_EQ(must(store_->rules().find_rule(made.id))->failure, "refused");
    EXPECT_EQ(must(store_->messages().message_counts()).unwell_rules, 1U);
    EXPECT_FALSE(take(monday + 9 * second).has_value());
    reopen();
    const auto second_try = take(monday + 10 * second);
    ASSERT_TRUE(second_try.has_value());
    EXPECT_EQ(second_try->id, first->id);
    EXPECT_EQ(second_try->attempts, 2U);
    // Its server dies and another takes it; a late answer of the dead server does not count.
    auto third = take(monday + 70 * second);
    ASSERT_TRUE(third.has_value());
    EXPECT_EQ(third->id, first->id);
    StoredMessage late = *second_try;
    late.state = MessageState::GivenUp;
    EXPECT_FALSE(must(store_->messages().settle_message(late, monday + 71 * second)));
    third->state = MessageState::Delivered;
    EXPECT_TRUE(must(store_->messages().settle_message(*third, monday + 71 * second)));
    const auto state = must(store_->rules().find_rule(made.id));
    EXPECT_EQ(state->reported_realtime_ns, monday + 71 * second);
    EXPECT_EQ(state->failed_realtime_ns, monday + second);
    EXPECT_THAT((std::vector{state->delivered, state->given_up}), ElementsAre(1U, 0U));
    EXPECT_EQ(state->failure, "");
    EXPECT_EQ(must(store_->messages().of_rule(made.id))[0].state, MessageState::Delivered);
    EXPECT_EQ(must(store_->messages().message_counts()).waiting, 0U);
}

TEST_F(RulesContract, TestsAreSentThoughTheRuleIsOff) {
    StoredRule made = rule();
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    made.enabled = false;
    ASSERT_EQ(must(store_->rules().change_rule(made, false)), RuleStore::RuleChange::Done);
    EXPECT_FALSE(take(monday).has_value()) << "a rule that is off tells nothing";
    StoredMessage test;
    test.id = "id";
    test.rule = made.id;
    test.body = "hello";
    test.made_realtime_ns = monday;
    EXPECT_TRUE(must(store_->messages().add_test_message(test)));
    test.id = "other";
    EXPECT_FALSE(must(store_->messages().add_test_message(test))) << "one waits already";
    const auto taken = take(monday);
    ASSERT_TRUE(taken.has_value());
    EXPECT_TRUE(taken->test);
    test.rule = 999;
    EXPECT_FALSE(must(store_->messages().add_test_message(test)));
}

TEST_F(RulesContract, ATestThatWaitsHoldsNothingBack) {
    const StoredRule made = rule();
    StoredMessage test;
    test.id = "id";
    test.rule = made.id;
    test.body = "hello";
    test.made_realtime_ns = monday;
    ASSERT_TRUE(must(store_->messages().add_test_message(test)));
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
}

TEST_F(RulesContract, HostsAreHeardByBatchesAndByBundles) {
    const std::uint64_t now_ns = monday + 40 * day;
    std::uint64_t number = 0;
    const auto hear = [&](const std::string& host, std::uint64_t at_ns) {
        BatchMaker maker(host);
        maker.add(at_ns, 10 * ms);
        must(store_->batches().add_batch(receipt_of(++number, at_ns), maker.batch));
    };
    hear("alpha", now_ns - day);
    hear("alpha", now_ns - hour);
    hear("gone", now_ns - 35 * day);
    BundleRow bundle;
    bundle.digest = receipt_of(++number).digest;
    bundle.received_realtime_ns = now_ns - 2 * hour;
    must(store_->inventory().add(bundle, {"parse", bundle.digest, monday}));
    BundleFacts facts;
    facts.host = "beta";
    must(store_->inventory().set_contents(bundle.digest, facts, {}, {}));
    const auto signs = must(store_->batches().signs_of_hosts(now_ns));
    ASSERT_THAT(signs, SizeIs(2));
    EXPECT_EQ(signs[0].host, "alpha");
    EXPECT_EQ(signs[0].last_realtime_ns, now_ns - hour);
    EXPECT_EQ(signs[1].host, "beta");
    EXPECT_EQ(signs[1].last_realtime_ns, now_ns - 2 * hour);
}

}  // namespace
}  // namespace lagtrap::server::rules_contract_test
