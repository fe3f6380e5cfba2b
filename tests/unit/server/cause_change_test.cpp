#include "server/api/cause_change.hpp"

#include <gmock/gmock.h>

namespace lagtrap::server::cause_change_test {
namespace {

CauseChange accepted(const json::object& body) {
    const auto read = read_cause_change(body);
    const auto* change = std::get_if<CauseChange>(&read);
    EXPECT_NE(change, nullptr) << json::serialize(body);
    return change == nullptr ? CauseChange() : *change;
}

std::string refused(const json::object& body) {
    const auto read = read_cause_change(body);
    const auto* refusal = std::get_if<Refusal>(&read);
    return refusal == nullptr ? "accepted" : refusal->message;
}

TEST(CauseChange, WhatTheBodyLeavesOutStaysAsItIs) {
    const CauseChange change = accepted({{"owner", ""}});
    EXPECT_EQ(change.owner, "");
    EXPECT_FALSE(change.status || change.note || change.link || change.root);
}

TEST(CauseChange, PeopleSetOnlyKnownAndResolved) {
    EXPECT_EQ(accepted({{"status", "known"}}).status, CauseStatus::Known);
    const CauseChange change = accepted({{"status", "resolved"}, {"resolved_build", "v2"}});
    EXPECT_EQ(change.status, CauseStatus::Resolved);
    EXPECT_EQ(change.resolved_build, "v2");
    EXPECT_EQ(refused({{"status", "regressed"}}), "\"status\": expected known or resolved");
    for (const json::object& body : {json::object{{"resolved_build", "v2"}},
                                     json::object{{"status", "known"}, {"resolved_build", "v2"}}})
        EXPECT_EQ(refused(body), "\"resolved_build\" goes with \"status\": \"resolved\"");
}

TEST(CauseChange, ALinkCannotRunScripts) {
    EXPECT_EQ(accepted({{"link", "http://tickets.example/7"}}).link, "http://tickets.example/7");
    EXPECT_EQ(accepted({{"link", ""}}).link, "");
    EXPECT_EQ(refused({{"link", "javascript:alert(1)"}}),
              "\"link\": expected an address that begins with https:// or http://");
}

TEST(CauseChange, APartBecomesACauseOfItsOwnWithoutAnId) {
    EXPECT_EQ(accepted({{"part_of", "17"}}).root, 17U);
    EXPECT_EQ(accepted({{"part_of", ""}}).root, 0U);
    EXPECT_EQ(refused({{"part_of", "x"}}), "\"part_of\": expected the id of a cause, or nothing");
}

}  // namespace
}  // namespace lagtrap::server::cause_change_test
