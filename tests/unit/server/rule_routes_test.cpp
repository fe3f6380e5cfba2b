#include "server/api/rule_routes.hpp"

#include <optional>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/alerts/conditions.hpp"
#include "server/alerts/message.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/server/readable_json.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::rule_routes_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::StartsWith;

std::string message_of(const Reply& reply) {
    return json::value_to<std::string>(json::parse(reply.body).at("error").at("message"));
}

class RuleRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        const auto log = [](const std::string&) {};
        audit_.emplace(store_->audit(), log);
        sender_.emplace(*store_, AlertOptions{}, log);
        principal_.kind = Principal::Kind::Session;
        principal_.name = "root";
        request_.sender = "10.0.0.7";
    }
    void TearDown() override {
        sender_.reset();
        StoreFixture::TearDown();
    }
    RuleParts parts() {
        return {store_->rules(), store_->messages(), *audit_, *sender_, principal_};
    }
    // A rule about new causes with these members in addition.
    static json::object body_of(const json::object& more) {
        json::object body{{"name", "news"},
                          {"condition", "new_cause"},
                          {"way", "webhook"},
                          {"address", "https://receiver.example/x"}};
        for (const auto& [name, value] : more) body[name] = value;
        return body;
    }
    Reply add(const json::object& more) {
        request_.body = json::serialize(body_of(more));
        return add_rule(parts(), request_);
    }
    Reply change(const json::object& more) {
        request_.body = json::serialize(body_of(more));
        return change_rule(parts(), first(), request_);
    }
    static Route route_of(const std::string& id) {
        Route route;
        route.arguments = {id};
        return route;
    }
    StoredRule stored() { return store_->rules().list().value().at(0); }
    Route first() { return route_of(std::to_string(stored().id)); }
    std::string newest_note() {
        const auto entries = store_->audit().list(1, {}, AuditPart::All).value();
        if (entries.empty()) return {};
        return entries[0].who + "|" + entries[0].action + "|" + entries[0].object + "|" +
               entries[0].detail;
    }

    std::optional<Audit> audit_;
    std::optional<AlertSender> sender_;
    Principal principal_;
    Request request_;
};

TEST_F(RuleRoutes, OnlyTheAnswerThatMadeAWebhookHasItsSecret) {
    const Reply added = add({});
    ASSERT_EQ(added.status, 201U) << added.body;
    const json::value answer = json::parse(added.body);
    EXPECT_EQ(json::value_to<std::string>(answer.at("secret")), stored().secret);
    EXPECT_THAT(stored().secret, StartsWith("whsec_"));
    EXPECT_EQ(answer.at("has_secret"), json::value(true));
    EXPECT_EQ(answer.at("enabled"), json::value(true));
    EXPECT_EQ(answer.at("changed_by"), "root");
    EXPECT_TRUE(answer.at("state").at("looked_ns").is_null());
    EXPECT_TRUE(answer.at("state").at("failure").is_null());
    EXPECT_EQ(newest_note(), "root|add rule|news|new_cause to webhook https://receiver.example/x");
    EXPECT_THAT(list_rules(store_->rules()).body, testing::Not(HasSubstr("whsec_")));
    EXPECT_EQ(message_of(add({})), "there is a rule of that name already");
    EXPECT_EQ(add({}).status, 409U);
    const std::string own = "whsec_" + std::string(32, 'A');
    EXPECT_EQ(add({{"name", "own"}, {"secret", own}}).status, 201U);
    EXPECT_EQ(add({{"name", "bad"}, {"secret", "guess"}}).status, 400U);
}

TEST_F(RuleRoutes, NamesAndSwitchesAreChecked) {
    EXPECT_EQ(message_of(add({{"name", ""}})),
              "\"name\": expected 1 to 64 bytes without control characters");
    EXPECT_EQ(message_of(add({{"name", "a\x1b"}})),
              "\"name\": expected 1 to 64 bytes without control characters");
    EXPECT_EQ(message_of(add({{"name", std::string(65, 'n')}})),
              "\"name\": expected at most 64 bytes");
    EXPECT_EQ(message_of(add({{"enabled", "yes"}})), "\"enabled\": expected true or false");
    EXPECT_EQ(add({{"condition", "full moon"}}).status, 400U);
    EXPECT_EQ(add({{"colour", "red"}}).status, 400U);
    EXPECT_EQ(add({{"secret", "whsec_\x1b"}}).status, 400U);
    EXPECT_TRUE(store_->rules().list().value().empty());
    EXPECT_EQ(add({{"name", std::string(64, 'n')}, {"enabled", false}}).status, 201U);
    EXPECT_FALSE(stored().enabled);
    EXPECT_THAT(newest_note(), testing::EndsWith("https://receiver.example/x, off"));
}

TEST_F(RuleRoutes, ASecretIsNotSentToAnotherReceiver) {
    ASSERT_EQ(add({}).status, 201U);
    const std::string secret = stored().secret;
    // Another path of the same host.
    const Reply kept = change({{"address", "https://receiver.example/y"}});
    EXPECT_EQ(kept.status, 200U) << kept.body;
    EXPECT_EQ(stored().secret, secret);
    EXPECT_EQ(newest_note(),
              "root|change rule|news|new_cause to webhook https://receiver.example/y");
    EXPECT_THAT(kept.body, testing::Not(HasSubstr("whsec_")));
    const Reply refused = change({{"address", "https://other.example/y"}});
    EXPECT_EQ(refused.status, 400U);
    EXPECT_EQ(message_of(refused),
              "way, host or user is another, so \"secret\" has to be given again");
    EXPECT_EQ(stored().secret, secret);
    const std::string own = "whsec_" + std::string(32, 'A');
    EXPECT_EQ(change({{"address", "https://other.example/y"}, {"secret", own}}).status, 200U);
    EXPECT_EQ(stored().secret, own);
    // An empty text takes it away, so the server makes another one.
    EXPECT_EQ(change({{"address", "https://third.example/y"}, {"secret", ""}}).status, 200U);
    EXPECT_THAT(stored().secret, StartsWith("whsec_"));
    EXPECT_NE(stored().secret, own);
}

TEST_F(RuleRoutes, SlacksAddressIsItsSecret) {
    const std::string address = "https://hooks.slack.example/services/T0/B0/key";
    EXPECT_EQ(message_of(add({{"way", "slack"}, {"address", address}, {"secret", "x"}})),
              "\"secret\" does not go with slack, whose secret is the address");
    const Reply added = add({{"way", "slack"}, {"address", address}});
    ASSERT_EQ(added.status, 201U) << added.body;
    EXPECT_EQ(stored().secret, address);
    EXPECT_THAT(added.body, testing::Not(HasSubstr("B0/key")));
    const auto shown = json::value_to<std::string>(json::parse(added.body).at("address"));
    EXPECT_THAT(newest_note(), testing::Not(HasSubstr("B0/key")));
    // What is shown can be sent back without losing the address.
    EXPECT_EQ(change({{"way", "slack"}, {"address", shown}, {"enabled", false}}).status, 200U);
    EXPECT_EQ(stored().secret, address);
    const std::string next = "https://hooks.slack.example/services/T1/B1/new";
    EXPECT_EQ(change({{"way", "slack"}, {"address", next}}).status, 200U);
    EXPECT_EQ(stored().secret, next);
}

TEST_F(RuleRoutes, ZonesAreThoseOfTheDatabase) {
    const Reply wrong =
        add({{"quiet_from", "22:00"}, {"quiet_to", "07:00"}, {"quiet_zone", "Europe/Nowhere"}});
    EXPECT_EQ(wrong.status, 400U);
    EXPECT_THAT(message_of(wrong), StartsWith("\"quiet_zone\": "));
    EXPECT_THAT(wrong.body, HasSubstr("tzdata"));
}

TEST_F(RuleRoutes, RulesThatAreMissingAreSaid) {
    for (const char* id : {"7", "x", ""}) {
        const Route route = route_of(id);
        request_.body = json::serialize(body_of({}));
        EXPECT_EQ(get_rule(store_->rules(), store_->messages(), route).status, 404U);
        EXPECT_EQ(change_rule(parts(), route, request_).status, 404U);
        EXPECT_EQ(delete_rule(parts(), route, request_).status, 404U);
        EXPECT_EQ(message_of(test_rule(parts(), route)), "there is no such rule");
    }
    ASSERT_EQ(add({}).status, 201U);
    const Route route = first();
    EXPECT_EQ(delete_rule(parts(), route, request_).status, 204U);
    EXPECT_EQ(newest_note(), "root|delete rule|news|from 10.0.0.7");
    EXPECT_TRUE(store_->rules().list().value().empty());
}

TEST_F(RuleRoutes, NamesStayUniqueWhenTheyChange) {
    ASSERT_EQ(add({}).status, 201U);
    ASSERT_EQ(add({{"name", "zebra"}}).status, 201U);
    EXPECT_EQ(message_of(change({{"name", "zebra"}})), "there is a rule of that name already");
    EXPECT_EQ(change({{"name", "other"}}).status, 200U);
}

TEST_F(RuleRoutes, OneTestAtATimeIsShown) {
    ASSERT_EQ(add({}).status, 201U);
    const Reply sent = test_rule(parts(), first());
    ASSERT_EQ(sent.status, 202U) << sent.body;
    const auto id = json::value_to<std::string>(json::parse(sent.body).at("message"));
    EXPECT_EQ(newest_note(), "root|test rule|news|" + id);
    EXPECT_EQ(message_of(test_rule(parts(), first())), "a test of this rule is under way already");
    EXPECT_EQ(test_rule(parts(), first()).status, 409U);
    const json::value rule =
        json::parse(get_rule(store_->rules(), store_->messages(), first()).body);
    ASSERT_EQ(rule.at("messages").as_array().size(), 1U);
    const json::value& message = rule.at("messages").at(0);
    EXPECT_EQ(json::value_to<std::string>(message.at("id")), id);
    EXPECT_EQ(message.at("test"), json::value(true));
    EXPECT_EQ(message.at("state"), "waiting");
    EXPECT_EQ(message.at("attempts"), 0);
    EXPECT_TRUE(message.at("settled_ns").is_null());
    EXPECT_TRUE(message.at("reason").is_null());
    EXPECT_FALSE(message.at("headline").as_string().empty());
    const auto taken = store_->messages().take_message(UINT64_C(9'000'000'000'000'000'000),
                                                       std::chrono::minutes(1));
    ASSERT_TRUE(taken.ok() && taken->has_value());
    StoredMessage settled = **taken;
    settled.state = MessageState::GivenUp;
    settled.reason = "refused";
    ASSERT_TRUE(store_->messages().settle_message(settled, 5).value());
    const json::value after =
        json::parse(get_rule(store_->rules(), store_->messages(), first()).body);
    EXPECT_EQ(after.at("messages").at(0).at("state"), "given_up");
    EXPECT_TRUE(after.at("messages").at(0).at("next_ns").is_null());
    EXPECT_EQ(after.at("messages").at(0).at("settled_ns"), "5");
    EXPECT_EQ(after.at("messages").at(0).at("reason"), "refused");
    EXPECT_EQ(test_rule(parts(), first()).status, 202U);
}

TEST_F(RuleRoutes, ARuleIsShownWithAllThatBecameOfIt) {
    ASSERT_EQ(add({{"event", "checkout"}, {"tell_ends", true}}).status, 201U);
    const StoredRule rule = stored();
    RuleLook look;
    look.rule = rule.id;
    look.changed_realtime_ns = rule.changed_realtime_ns;
    look.reports_ends = true;
    const auto evaluate = [&](std::uint64_t at_ns, std::vector<Finding> found) {
        look.at_realtime_ns = at_ns;
        look.found = std::move(found);
        const auto compose = [&](const auto& news, std::uint64_t left_out) {
            return message_of(rule, parse_rule(rule.definition).value(), news, left_out, at_ns, "")
                .json_text();
        };
        EXPECT_TRUE(store_->rules().note_findings(look, compose).value());
    };
    Facts facts;
    facts.title = "New cause of delays of checkout.";
    facts.path = "/cause/3";
    evaluate(10, {{"cause 3", facts.text()}});
    const auto deliver = [&](MessageState state, const char* reason, std::uint64_t at_ns) {
        StoredMessage message = **store_->messages().take_message(at_ns, std::chrono::minutes(1));
        message.state = state;
        message.reason = reason;
        message.next_realtime_ns = at_ns + 5;
        EXPECT_TRUE(store_->messages().settle_message(message, at_ns).value());
    };
    deliver(MessageState::Delivered, "", 20);
    evaluate(30, {});
    deliver(MessageState::Waiting, "it refused", 40);
    ASSERT_TRUE(store_->rules().note_look_failure(rule.id, "no time zones").ok());
    json::object shown =
        json::parse(get_rule(store_->rules(), store_->messages(), first()).body).as_object();
    EXPECT_EQ(shown.at("changed_ns"), json::value(std::to_string(rule.changed_realtime_ns)));
    shown.erase("changed_ns");
    shown.at("state").as_object().erase("looked_ns");
    for (json::value& message : shown.at("messages").as_array()) message.as_object().erase("id");
    expect_text_of_file(test_data_folder() + "/server/rule_with_state.json",
                        readable(shown) + "\n");
}

TEST_F(RuleRoutes, OnlyWebhooksHaveASecretOfTheirOwn) {
    const json::value alertmanager = json::parse(
        add({{"way", "alertmanager"}, {"address", "http://a:9093"}, {"secret", "token"}}).body);
    EXPECT_FALSE(alertmanager.as_object().contains("secret"));
    EXPECT_EQ(alertmanager.at("has_secret"), json::value(true));
    EXPECT_EQ(stored().secret, "token");
    const json::value bare = json::parse(
        add({{"name", "bare"}, {"way", "alertmanager"}, {"address", "http://a:9093"}}).body);
    EXPECT_EQ(bare.at("has_secret"), json::value(false));
    EXPECT_EQ(message_of(add({{"name", "x"}, {"secret", "whsec_short"}})),
              "\"secret\": expected whsec_ and the Base64 of 24 to 64 bytes; without one the "
              "server makes one");
    EXPECT_EQ(message_of(add({{"name", "x"}, {"secret", std::string(501, 's')}})),
              "\"secret\": expected at most 500 bytes");
}

}  // namespace
}  // namespace lagtrap::server::rule_routes_test
