#include "server/store/rule_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/rules_fixture.hpp"

namespace lagtrap::server::rule_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

class RuleStoreTest : public RulesStoreTest {
  protected:
    StoredRule found(std::uint64_t id) {
        auto one = must(store_->rules().find_rule(id));
        EXPECT_TRUE(one.has_value());
        return one.value_or(StoredRule{});
    }
    void change(const StoredRule& rule, bool forget) {
        EXPECT_EQ(must(store_->rules().change_rule(rule, forget)), RuleStore::RuleChange::Done);
    }
    std::vector<std::string> findings(const StoredRule& rule) {
        std::vector<std::string> subjects;
        for (const KeptFinding& kept : must(store_->rules().findings(rule.id)))
            subjects.push_back(kept.finding.subject);
        return subjects;
    }
};

TEST_F(RuleStoreTest, ARuleComesBackAsItWas) {
    StoredRule made;
    made.name = "ni\x1bghts";
    made.enabled = false;
    made.definition = "{\"a\":1}";
    made.secret = "secret";
    made.changed_by = "an\x1bn";
    made.changed_realtime_ns = monday + 3;
    made.id = must(store_->rules().add_rule(made)).value();
    for (const StoredRule& one : {found(made.id), must(store_->rules().list()).at(0)}) {
        EXPECT_EQ(one.id, made.id);
        EXPECT_EQ(one.name, "ni\\x1bghts");
        EXPECT_FALSE(one.enabled);
        EXPECT_EQ(one.definition, "{\"a\":1}");
        EXPECT_EQ(one.secret, "secret");
        EXPECT_EQ(one.changed_by, "an\\x1bn");
        EXPECT_EQ(one.changed_realtime_ns, monday + 3);
        EXPECT_EQ(one.since_realtime_ns, monday + 3);
        EXPECT_EQ(one.looked_realtime_ns, 0U);
        EXPECT_EQ(one.look_failure, "");
        EXPECT_EQ(one.reported_realtime_ns, 0U);
        EXPECT_EQ(one.failed_realtime_ns, 0U);
        EXPECT_EQ(one.failure, "");
        EXPECT_EQ(one.delivered, 0U);
        EXPECT_EQ(one.given_up, 0U);
    }
}

TEST_F(RuleStoreTest, AChangeReplacesEverythingAPersonSets) {
    StoredRule made = rule();
    made.name = "days";
    made.definition = "{1}";
    made.secret = "another";
    made.changed_by = "bob";
    made.changed_realtime_ns = monday + hour;
    change(made, false);
    const StoredRule now = found(made.id);
    EXPECT_EQ(now.name, "days");
    EXPECT_TRUE(now.enabled);
    EXPECT_EQ(now.definition, "{1}");
    EXPECT_EQ(now.secret, "another");
    EXPECT_EQ(now.changed_by, "bob");
    EXPECT_EQ(now.changed_realtime_ns, monday + hour);
    EXPECT_EQ(now.since_realtime_ns, monday) << "it was enabled all the time";
}

TEST_F(RuleStoreTest, FindingsStayUnlessTheConditionChanged) {
    StoredRule made = rule();
    const StoredRule other = rule("other");
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    EXPECT_EQ(note(look_at(other, monday, {{"b", ""}})), "b, ");
    made.changed_realtime_ns = monday + hour;
    change(made, false);
    EXPECT_THAT(findings(made), ElementsAre("a"));
    made.changed_realtime_ns = monday + 2 * hour;
    change(made, true);
    EXPECT_THAT(findings(made), IsEmpty());
    EXPECT_THAT(findings(other), ElementsAre("b"));
    EXPECT_EQ(found(made.id).since_realtime_ns, monday + 2 * hour);
}

TEST_F(RuleStoreTest, AChangedRuleIsEvaluatedAtOnce) {
    const StoredRule made = rule();
    ASSERT_TRUE(must(store_->rules().take_rule(monday, 1h)).has_value());
    ASSERT_TRUE(store_->rules().note_look_failure(made.id, "no route").ok());
    change(made, false);
    EXPECT_EQ(found(made.id).look_failure, "");
    EXPECT_TRUE(must(store_->rules().take_rule(monday + 1, 1h)).has_value());
}

TEST_F(RuleStoreTest, TheRuleThatWaitedLongestIsEvaluatedFirst) {
    const StoredRule first = rule("z"), second_rule = rule("a");
    const auto taken = [&](std::uint64_t now_ns) {
        const auto one = must(store_->rules().take_rule(now_ns, 1min));
        return one ? one->id : 0;
    };
    EXPECT_EQ(taken(monday), first.id);
    EXPECT_EQ(taken(monday + second), second_rule.id);
    EXPECT_EQ(taken(monday + 2 * second), 0U);
    EXPECT_EQ(taken(monday + 60 * second), first.id);
    EXPECT_EQ(taken(monday + 5 * 60 * second), second_rule.id);
    EXPECT_EQ(taken(monday + 5 * 60 * second), first.id);
}

TEST_F(RuleStoreTest, NumbersThatNoRuleCanHaveAreNoRules) {
    StoredRule none;
    none.id = UINT64_MAX;
    EXPECT_EQ(must(store_->rules().change_rule(none, true)), RuleStore::RuleChange::NoSuchRule);
    EXPECT_FALSE(must(store_->rules().remove_rule(UINT64_MAX)));
    EXPECT_FALSE(must(store_->rules().find_rule(UINT64_MAX)).has_value());
    EXPECT_THAT(must(store_->rules().findings(UINT64_MAX)), IsEmpty());
    EXPECT_THAT(must(store_->messages().of_rule(UINT64_MAX)), IsEmpty());
}

TEST_F(RuleStoreTest, ARemovedRuleTakesItsFindingsAndMessagesWithIt) {
    const StoredRule made = rule(), other = rule("other");
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    EXPECT_EQ(note(look_at(other, monday, {{"b", ""}})), "b, ");
    EXPECT_TRUE(must(store_->rules().remove_rule(made.id)));
    EXPECT_THAT(findings(made), IsEmpty());
    EXPECT_THAT(must(store_->messages().of_rule(made.id)), IsEmpty());
    EXPECT_THAT(findings(other), ElementsAre("b"));
    EXPECT_THAT(must(store_->messages().of_rule(other.id)), SizeIs(1));
    EXPECT_EQ(note(look_at(made, monday + hour, {{"a", ""}})), "") << "a rule that is gone";
}

TEST_F(RuleStoreTest, OngoingFindingsComeFirstThenTheNewest) {
    const StoredRule made = rule();
    note(look_at(made, monday, {{"ended early", ""}, {"stays", ""}}));
    note(look_at(made, monday + 1, {{"stays", ""}, {"ended late", ""}}));
    note(look_at(made, monday + 2, {{"stays", ""}, {"new b", ""}, {"new a", ""}}));
    EXPECT_THAT(findings(made),
                ElementsAre("new a", "new b", "stays", "ended late", "ended early"));
    const auto kept = must(store_->rules().findings(made.id));
    EXPECT_EQ(kept[2].found_realtime_ns, monday);
    EXPECT_EQ(kept[2].ended_realtime_ns, 0U);
    EXPECT_EQ(kept[4].ended_realtime_ns, monday + 1);
    std::vector<Finding> many;
    for (int i = 0; i < 201; ++i) many.push_back({"finding " + std::to_string(i), ""});
    note(look_at(made, monday + 3, many));
    EXPECT_THAT(findings(made), SizeIs(200));
}

TEST_F(RuleStoreTest, NewsComeInTheOrderTheyWereFound) {
    const StoredRule made = rule();
    RuleLook quiet = look_at(made, monday, {{"z", ""}});
    quiet.may_report = false;
    EXPECT_EQ(note(quiet), "");
    EXPECT_EQ(must(store_->rules().findings(made.id)).at(0).reported_realtime_ns, 0U);
    EXPECT_EQ(note(look_at(made, monday + 1, {{"z", ""}, {"a", ""}})), "z, a, ");
    EXPECT_EQ(must(store_->rules().findings(made.id)).at(0).reported_realtime_ns, monday + 1);
}

TEST_F(RuleStoreTest, AFindingThatReturnsIsFoundAnew) {
    const StoredRule made = rule();
    note(look_at(made, monday, {{"a", "1"}}));
    deliver(monday);
    note(look_at(made, monday + 1, {}));
    EXPECT_EQ(must(store_->rules().findings(made.id)).at(0).ended_realtime_ns, monday + 1);
    EXPECT_EQ(note(look_at(made, monday + 2, {{"a", "2"}})), "a, ");
    const KeptFinding kept = must(store_->rules().findings(made.id)).at(0);
    EXPECT_EQ(kept.finding.facts, "2");
    EXPECT_EQ(kept.found_realtime_ns, monday + 2);
    EXPECT_EQ(kept.ended_realtime_ns, 0U);
    EXPECT_EQ(kept.reported_realtime_ns, monday + 2);
    // Its next end is reported too.
    deliver(monday + 2);
    RuleLook gone = look_at(made, monday + 3, {});
    gone.reports_ends = true;
    EXPECT_EQ(note(gone), "a over, ");
}

TEST_F(RuleStoreTest, AnEndIsMeasuredFromWhenItWasLastFound) {
    const StoredRule made = rule();
    note(look_at(made, monday, {{"a", ""}}));
    deliver(monday);
    note(look_at(made, monday + hour, {{"a", ""}}));
    RuleLook gone = look_at(made, monday + 3 * hour - 1, {});
    gone.reports_ends = true;
    gone.ends_after_ns = 2 * hour;
    EXPECT_EQ(note(gone), "");
    ++gone.at_realtime_ns;
    EXPECT_EQ(note(gone), "a over, ");
    EXPECT_EQ(must(store_->rules().findings(made.id)).at(0).ended_realtime_ns, monday + 3 * hour);
}

TEST_F(RuleStoreTest, ARepetitionIsCountedFromTheLastReportAndEndsWithTheFinding) {
    const StoredRule made = rule();
    const auto at = [&](std::uint64_t at_ns, std::vector<Finding> found) {
        RuleLook look = look_at(made, at_ns, std::move(found));
        look.repeat_ns = hour;
        return note(look);
    };
    EXPECT_EQ(at(monday, {{"a", ""}}), "a, ");
    deliver(monday);
    EXPECT_EQ(at(monday + 90 * 60 * second, {{"a", ""}}), "a, ");
    deliver(monday + 90 * 60 * second);
    EXPECT_EQ(at(monday + 2 * hour, {{"a", ""}}), "");
    EXPECT_EQ(at(monday + 3 * hour, {}), "");
    EXPECT_EQ(at(monday + 9 * hour, {}), "");
    // Without an interval, nothing is repeated.
    const StoredRule once = rule("once");
    EXPECT_EQ(note(look_at(once, monday, {{"a", ""}})), "a, ");
    deliver(monday + 9 * hour);
    EXPECT_EQ(note(look_at(once, monday + 99 * day, {{"a", ""}})), "");
}

TEST_F(RuleStoreTest, OnlyItsOwnMessagesHoldARuleBack) {
    const StoredRule made = rule(), other = rule("other");
    EXPECT_EQ(note(look_at(made, monday, {{"a", ""}})), "a, ");
    EXPECT_EQ(note(look_at(other, monday, {{"b", ""}})), "b, ");
    const auto sending = take(monday);
    ASSERT_TRUE(sending.has_value());
    EXPECT_EQ(note(look_at(made, monday + 1, {{"c", ""}})), "") << "being sent is not delivered";
    settle(*sending, MessageState::GivenUp, monday + 1);
    const StoredRule& settled = sending->rule == made.id ? made : other;
    EXPECT_NE(note(look_at(settled, monday + 2, {{"d", ""}})), "");
}

TEST_F(RuleStoreTest, AnEvaluationIsNotedEvenWithoutFindings) {
    StoredRule made = rule();
    ASSERT_TRUE(
        store_->rules().note_look_failure(made.id, "no\x1broute" + std::string(600, 'x')).ok());
    const std::string failure = found(made.id).look_failure;
    EXPECT_EQ(failure.size(), 500U);
    EXPECT_TRUE(failure.starts_with("no\\x1broute"));
    EXPECT_EQ(must(store_->messages().message_counts()).unwell_rules, 1U);
    EXPECT_EQ(note(look_at(made, monday + 5, {})), "");
    EXPECT_EQ(found(made.id).looked_realtime_ns, monday + 5);
    EXPECT_EQ(found(made.id).look_failure, "");
    EXPECT_EQ(must(store_->messages().message_counts()).unwell_rules, 0U);
    EXPECT_EQ(note(look_at(made, monday + 5, {{"a", ""}})), "a, ") << "not older than the last";
    made.enabled = false;
    change(made, false);
    EXPECT_EQ(note(look_at(made, monday + 6, {{"b", ""}})), "") << "a rule that is off";
    EXPECT_EQ(found(made.id).looked_realtime_ns, monday + 5);
}

TEST_F(RuleStoreTest, TheNameOfARuleIsItsOwn) {
    StoredRule made = rule();
    change(made, false);
    const StoredRule other = rule("other");
    made.name = "other";
    made.definition = "lost";
    EXPECT_EQ(must(store_->rules().change_rule(made, true)), RuleStore::RuleChange::NameTaken);
    EXPECT_EQ(found(made.id).definition, "{}");
    StoredRule again = other;
    EXPECT_FALSE(must(store_->rules().add_rule(again)).has_value());
    EXPECT_THAT(must(store_->rules().list()), SizeIs(2));
}

}  // namespace
}  // namespace lagtrap::server::rule_store_test
