#include "server/accounts/audit.hpp"

#include <sqlite3.h>

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::audit_test {
namespace {

class AuditTest : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        audit_.emplace(store_->audit(),
                       [this](const std::string& line) { lines_.push_back(line); });
    }
    std::vector<std::string> lines_;
    std::optional<Audit> audit_;
};

TEST_F(AuditTest, KeepsAndLogsWhatCanBeShown) {
    audit_->note("ann", "add account", "b\x1b[2Jb", "admin, from ::1");
    audit_->note("", "refuse sign-in", "", "");
    EXPECT_EQ(lines_,
              (std::vector<std::string>{"audit: ann: add account b\\x1b[2Jb (admin, from ::1)",
                                        "audit: nobody known: refuse sign-in"}));
    const auto entries = store_->audit().list(9, {}, AuditPart::All).value();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[1].object, "b\\x1b[2Jb");
    EXPECT_EQ(audit_->lost(), 0U);
}

TEST_F(AuditTest, CountsAndLogsWhatTheStoreDidNotTake) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((directory_ / "lagtrap.sqlite").c_str(), &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 60'000);  // while the store writes
    EXPECT_EQ(sqlite3_exec(database, "ALTER TABLE audit RENAME TO gone", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    audit_->note("ann", "add account", "bob", "");
    EXPECT_EQ(audit_->lost(), 1U);
    ASSERT_EQ(lines_.size(), 2U);
    EXPECT_EQ(lines_[0], "audit: ann: add account bob");
    EXPECT_EQ(lines_[1].substr(0, 33), "the audit lacks the entry before:");
}

TEST_F(AuditTest, SendersOfAllTheWorldTogetherFillNothing) {
    for (int sender = 0; sender < 1000; ++sender)
        audit_->note_unknown(std::to_string(sender), "refuse token", "x");
    audit_->note_unknown("0", "refuse token", "x");
    const auto entries = store_->audit().list(1000, {}, AuditPart::All).value();
    EXPECT_GE(entries.size(), 60U);
    EXPECT_EQ(entries.size() + audit_->left_out(), 1001U);
    EXPECT_GT(audit_->left_out(), 0U);
}

TEST_F(AuditTest, WhatSomebodyKnownCausesAgainAndAgainHasOneEntry) {
    for (int i = 0; i < 3; ++i) audit_->note_often("token rack", "refuse upload", "name rack", "x");
    audit_->note_often("token other", "refuse upload", "name other", "x");
    const auto entries = store_->audit().list(9, {}, AuditPart::Refusals).value();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].who, "token other");
    EXPECT_EQ(entries[1].who, "token rack");
    EXPECT_EQ(audit_->left_out(), 2U);
}

TEST_F(AuditTest, NamesWhoAsks) {
    Principal principal;
    EXPECT_EQ(who_of(principal), "");
    principal.name = "rack";
    principal.kind = Principal::Kind::Token;
    EXPECT_EQ(who_of(principal), "token rack");
    principal.kind = Principal::Kind::Session;
    EXPECT_EQ(who_of(principal), "rack");
    principal.kind = Principal::Kind::Local;
    EXPECT_EQ(who_of(principal), "anyone on this machine");
}

}  // namespace
}  // namespace lagtrap::server::audit_test
