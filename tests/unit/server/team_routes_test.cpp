#include "server/api/team_routes.hpp"

#include <optional>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/build_routes.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::team_routes_test {
namespace {

namespace json = boost::json;

std::string message_of(const Reply& reply) {
    return json::value_to<std::string>(json::parse(reply.body).at("error").at("message"));
}

class TeamRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        audit_.emplace(store_->audit(), [](const std::string&) {});
        principal_.kind = Principal::Kind::Session;
        principal_.name = "root";
        request_.sender = "10.0.0.7";
        ASSERT_TRUE(store_->accounts().add_account({"ann", Role::Reader, "x", 5, false}).ok());
    }
    TeamParts parts() { return {store_->teams(), *audit_, principal_}; }
    static Route route_of(std::vector<std::string> arguments) {
        Route route;
        route.arguments = std::move(arguments);
        return route;
    }
    Reply set(const std::string& name, const std::string& body) {
        request_.body = body;
        return set_team(parts(), route_of({name}), request_);
    }
    std::string newest_note() {
        const auto entries = store_->audit().list(1, {}, AuditPart::All).value();
        if (entries.empty()) return {};
        return entries[0].who + "|" + entries[0].action + "|" + entries[0].object + "|" +
               entries[0].detail;
    }

    std::optional<Audit> audit_;
    Principal principal_;
    Request request_;
};

TEST_F(TeamRoutes, ATeamIsAddedAndThenChanged) {
    const Reply added =
        set("shop", R"({"events":["shop.*"],"units":["a.service","b.service"],"groups":[]})");
    EXPECT_EQ(added.status, 201U) << added.body;
    EXPECT_EQ(added.body, R"({"team":"shop","events":["shop.*"],"units":["a.service","b.service"],)"
                          R"("groups":[],"accounts":[]})"
                          "\n");
    EXPECT_EQ(newest_note(),
              "root|add team|shop|events shop.*; units a.service b.service; groups, from 10.0.0.7");
    const auto join = join_team(parts(), route_of({"shop", "ann"}), request_);
    EXPECT_EQ(join.status, 204U);
    EXPECT_EQ(newest_note(), "root|join team|shop|ann, from 10.0.0.7");
    const Reply changed = set("shop", R"({"events":["cart"],"units":[],"groups":["dev"]})");
    EXPECT_EQ(changed.status, 200U);
    EXPECT_EQ(changed.body, R"({"team":"shop","events":["cart"],"units":[],"groups":["dev"],)"
                            R"("accounts":[{"account":"ann","by_group":false}]})"
                            "\n");
    EXPECT_EQ(newest_note(), "root|change team|shop|events cart; units; groups dev, from 10.0.0.7");
    EXPECT_EQ(list_teams(store_->teams()).body,
              R"({"teams":[{"team":"shop","events":["cart"],"units":[],"groups":["dev"],)"
              R"("accounts":[{"account":"ann","by_group":false}]}]})"
              "\n");
}

TEST_F(TeamRoutes, WhatIsNoListOfTextsIsRefused) {
    for (const char* name : {"events", "units", "groups"})
        for (const char* value : {"\"a\"", "[1]", "[\"a\",null]", "null"}) {
            json::object body{
                {"events", json::array{}}, {"units", json::array{}}, {"groups", json::array{}}};
            body[name] = json::parse(value);
            const Reply refused = set("shop", json::serialize(body));
            EXPECT_EQ(refused.status, 400U);
            EXPECT_EQ(message_of(refused),
                      '"' + std::string(name) + "\": expected a list of texts");
        }
    EXPECT_EQ(set("shop", R"({"events":[],"units":[]})").status, 400U);
    EXPECT_EQ(set("a b\x1b", R"({"events":["a"],"units":[],"groups":[]})").status, 400U);
    EXPECT_TRUE(store_->teams().list().value().empty());
}

TEST_F(TeamRoutes, MembersAndTeamsThatAreMissingAreSaid) {
    ASSERT_EQ(set("shop", R"({"events":["a"],"units":[],"groups":[]})").status, 201U);
    EXPECT_EQ(message_of(join_team(parts(), route_of({"shop", "bob"}), request_)),
              "there is no such team, or no such account");
    EXPECT_EQ(join_team(parts(), route_of({"none", "ann"}), request_).status, 404U);
    const auto leave = [&](const char* account) {
        return leave_team(parts(), route_of({"shop", account}), request_);
    };
    EXPECT_EQ(message_of(leave("ann")), "there is no such team, or no such account in it");
    ASSERT_EQ(join_team(parts(), route_of({"shop", "ann"}), request_).status, 204U);
    EXPECT_EQ(leave("ann").status, 204U);
    EXPECT_EQ(newest_note(), "root|leave team|shop|ann, from 10.0.0.7");
    EXPECT_EQ(delete_team(parts(), route_of({"none"}), request_).status, 404U);
    EXPECT_EQ(delete_team(parts(), route_of({"shop"}), request_).status, 204U);
    EXPECT_EQ(newest_note(), "root|delete team|shop|from 10.0.0.7");
    EXPECT_TRUE(store_->teams().list().value().empty());
}

// The account would see everything again.
TEST_F(TeamRoutes, TheLastTeamWithAMemberStays) {
    ASSERT_EQ(set("shop", R"({"events":["a"],"units":[],"groups":[]})").status, 201U);
    ASSERT_EQ(join_team(parts(), route_of({"shop", "ann"}), request_).status, 204U);
    EXPECT_EQ(delete_team(parts(), route_of({"shop"}), request_).status, 409U);
    EXPECT_EQ(store_->teams().list().value().size(), 1U);
}

TEST_F(TeamRoutes, BuildsGetNamesAndLoseThem) {
    const auto label = [&](const std::string& build, const std::string& body) {
        request_.body = body;
        return label_build(store_->everything().builds(), *audit_, route_of({build}), principal_,
                           request_);
    };
    const Reply labelled = label("ab12", R"({"name":"v1.0"})");
    EXPECT_EQ(labelled.status, 200U);
    const json::value answer = json::parse(labelled.body);
    EXPECT_EQ(answer.at("build"), "ab12");
    EXPECT_EQ(answer.at("name"), "v1.0");
    EXPECT_EQ(answer.at("by"), "root");
    EXPECT_TRUE(answer.at("at_ns").is_string());
    EXPECT_EQ(newest_note(), "root|label build|ab12|v1.0");
    EXPECT_EQ(json::parse(list_build_labels(store_->everything().builds()).body)
                  .at("labels")
                  .as_array()
                  .size(),
              1U);
    EXPECT_EQ(label(std::string(256, 'b'), R"({"name":""})").status, 200U);
    EXPECT_EQ(message_of(label(std::string(257, 'b'), R"({"name":"x"})")),
              "the build id is longer than 256 bytes");
    EXPECT_EQ(label("x", R"({"name":")" + std::string(64, 'n') + "\"}").status, 200U);
    EXPECT_EQ(label("x", R"({"name":")" + std::string(65, 'n') + "\"}").status, 400U);
    EXPECT_EQ(message_of(label("x", R"({"name":"a\u001bb"})")),
              "\"name\": expected a text without control characters");
    EXPECT_EQ(label("x", R"({"name":""})").status, 200U);
    EXPECT_EQ(label("ab12", R"({"name":""})").status, 200U);
    EXPECT_EQ(list_build_labels(store_->everything().builds()).body, "{\"labels\":[]}\n");
}

}  // namespace
}  // namespace lagtrap::server::team_routes_test
