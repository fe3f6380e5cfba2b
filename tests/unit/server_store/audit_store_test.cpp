#include "server/store/audit_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::audit_store_test {
namespace {

using testing::ElementsAre;

class AuditStoreTest : public StoreTest {
  protected:
    std::vector<std::string> actions(AuditPart part) {
        std::vector<std::string> found;
        for (const AuditEntry& entry : must(store_->audit().list(99, {}, part)))
            found.push_back(entry.action);
        return found;
    }
};

TEST_F(AuditStoreTest, AnEntryComesBackAsItWas) {
    ASSERT_TRUE(store_->audit()
                    .add_audit({77, 5, "an\x1bn",
                                "ad\x1b"
                                "d",
                                "ob\x1bject", "de\x1btail"})
                    .ok());
    const AuditEntry entry = must(store_->audit().list(1, {}, AuditPart::All)).at(0);
    EXPECT_NE(entry.number, 77U);
    EXPECT_EQ(entry.at_realtime_ns, 5U);
    EXPECT_EQ(entry.who, "an\\x1bn");
    EXPECT_EQ(entry.action,
              "ad\\x1b"
              "d");
    EXPECT_EQ(entry.object, "ob\\x1bject");
    EXPECT_EQ(entry.detail, "de\\x1btail");
}

TEST_F(AuditStoreTest, EachPartHasItsActions) {
    for (const char* action : {"sign in", "refuse sign-in", "sign out", "refuse token", "refuse",
                               "refuses", "sign in again", "remove token"})
        ASSERT_TRUE(store_->audit().add_audit({0, 1, "ann", action, "", ""}).ok());
    EXPECT_THAT(actions(AuditPart::SignIns), ElementsAre("sign out", "refuse sign-in", "sign in"));
    EXPECT_THAT(actions(AuditPart::Refusals), ElementsAre("refuse token", "refuse sign-in"));
    EXPECT_EQ(actions(AuditPart::All).size(), 8U);
}

TEST_F(AuditStoreTest, BeforeIsExclusive) {
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(
            store_->audit().add_audit({0, 1, "ann", "refuse " + std::to_string(i), "", ""}).ok());
    const auto all = must(store_->audit().list(9, {}, AuditPart::Refusals));
    const auto earlier = must(store_->audit().list(1, all.at(0).number, AuditPart::Refusals));
    ASSERT_EQ(earlier.size(), 1U);
    EXPECT_EQ(earlier[0].action, "refuse 1");
    EXPECT_TRUE(must(store_->audit().list(9, all.at(2).number, AuditPart::All)).empty());
}

TEST_F(AuditStoreTest, OfRefusalsTheNewestHundredThousandAreKept) {
    ASSERT_TRUE(backend_
                    ->script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                             "i < 100002) INSERT INTO audit(at_ns, who, action, object, detail) "
                             "SELECT i, '', 'refuse token', '', '' FROM n")
                    .ok());
    ASSERT_TRUE(store_->audit().add_audit({0, 1, "ann", "sign in", "", ""}).ok());
    ASSERT_TRUE(store_->upkeep().maintain(day).ok());
    // The oldest that stays is the one before the newest hundred thousand.
    EXPECT_TRUE(holds("(SELECT min(at_ns) FROM audit WHERE action = 'refuse token') = 2"));
    EXPECT_TRUE(holds("(SELECT count(*) FROM audit WHERE action = 'sign in') = 1"));
}

}  // namespace
}  // namespace lagtrap::server::audit_store_test
