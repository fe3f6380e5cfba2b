#include "server/store/account_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::account_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AccountStoreTest : public StoreTest {
  protected:
    void add(const std::string& name, Role role = Role::Reader) {
        ASSERT_EQ(must(store_->accounts().add_account({name, role, "hash", 5, false})),
                  AddOutcome::New);
    }
    void sign_in(const std::string& token, const std::string& account,
                 std::uint64_t created_ns = 1) {
        ASSERT_TRUE(
            store_->accounts().add_session({token, account, created_ns, created_ns, 100, ""}).ok());
    }
    bool signed_in(const std::string& token) {
        return must(store_->accounts().find_session(token)).has_value();
    }
};

TEST_F(AccountStoreTest, AccountsComeBackAsTheyWereByName) {
    ASSERT_EQ(must(store_->accounts().add_account(
                  {"zoe", Role::Uploader, "$a", 7, true, "https://issuer subject"})),
              AddOutcome::New);
    ASSERT_EQ(must(store_->accounts().add_account({"ann", Role::Admin, "$b", 8, false})),
              AddOutcome::New);
    const auto all = must(store_->accounts().list());
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].name, "ann");
    EXPECT_EQ(all[0].role, Role::Admin);
    EXPECT_FALSE(all[0].disabled);
    EXPECT_EQ(all[0].subject, "");
    for (const Account& zoe : {all[1], must(store_->accounts().find_account("zoe")).value()}) {
        EXPECT_EQ(zoe.name, "zoe");
        EXPECT_EQ(zoe.role, Role::Uploader);
        EXPECT_EQ(zoe.password_hash, "$a");
        EXPECT_EQ(zoe.created_realtime_ns, 7U);
        EXPECT_TRUE(zoe.disabled);
        EXPECT_EQ(zoe.subject, "https://issuer subject");
    }
    EXPECT_FALSE(must(store_->accounts().find_account("bob")).has_value());
}

TEST_F(AccountStoreTest, ATakenNameChangesNothing) {
    add("ann", Role::Admin);
    EXPECT_EQ(must(store_->accounts().add_account({"ann", Role::Reader, "other", 9, true})),
              AddOutcome::Already);
    const Account ann = must(store_->accounts().find_account("ann")).value();
    EXPECT_EQ(ann.role, Role::Admin);
    EXPECT_EQ(ann.password_hash, "hash");
}

TEST_F(AccountStoreTest, ARightOrPasswordThatChangesEndsTheOtherSessions) {
    struct Change {
        const char* what;
        Role role;
        const char* hash;
        bool disabled;
        bool ends;
    };
    for (const Change& one : {Change{"nothing", Role::Reader, "hash", false, false},
                              Change{"role", Role::Admin, "hash", false, true},
                              Change{"password", Role::Reader, "new", false, true},
                              Change{"disabled", Role::Reader, "hash", true, true}}) {
        const std::string name = one.what;
        add(name);
        add(name + " other");
        sign_in(name + "1", name);
        sign_in(name + "2", name);
        sign_in(name + "3", name + " other");
        EXPECT_TRUE(must(store_->accounts().change_account(
            {name, one.role, one.hash, 99, one.disabled, "ignored"}, name + "2")));
        const auto left = must(store_->accounts().sessions(name));
        EXPECT_THAT(left, SizeIs(one.ends ? 1 : 2)) << name;
        EXPECT_EQ(signed_in(name + "2"), !one.disabled) << name;
        EXPECT_TRUE(signed_in(name + "3")) << name;
        const Account now = must(store_->accounts().find_account(name)).value();
        EXPECT_EQ(now.role, one.role);
        EXPECT_EQ(now.password_hash, one.hash);
        EXPECT_EQ(now.disabled, one.disabled);
        EXPECT_EQ(now.created_realtime_ns, 5U);
        EXPECT_EQ(now.subject, "");
    }
}

TEST_F(AccountStoreTest, ARemovedAccountLosesItsSessionsAndTeamsAlone) {
    for (const char* name : {"ann", "bob"}) {
        add(name);
        sign_in(std::string("session of ") + name, name);
    }
    ASSERT_EQ(must(store_->teams().set_team({"shop", {}, {}, {}})), AddOutcome::New);
    for (const char* name : {"ann", "bob"})
        ASSERT_TRUE(must(store_->teams().join_team("shop", name)));
    ASSERT_TRUE(store_->accounts().remove_account("ann").ok());
    ASSERT_TRUE(store_->accounts().remove_account("ann").ok());
    EXPECT_FALSE(signed_in("session of ann"));
    EXPECT_TRUE(signed_in("session of bob"));
    EXPECT_THAT(must(store_->accounts().list()), SizeIs(1));
    EXPECT_THAT(must(store_->teams().list()).at(0).members, SizeIs(1));
    add("ann");
    EXPECT_THAT(must(store_->accounts().sessions("ann")), IsEmpty());
    EXPECT_THAT(must(store_->teams().teams_of("ann")), IsEmpty());
}

TEST_F(AccountStoreTest, SessionsComeBackAsTheyWereNewestFirst) {
    add("ann");
    add("bob");
    ASSERT_TRUE(store_->accounts().add_session({"s1", "ann", 10, 35, 12, "::\x1b"}).ok());
    sign_in("s2", "ann", 30);
    sign_in("s3", "ann", 20);
    sign_in("s4", "bob");
    const Session first = must(store_->accounts().find_session("s1")).value();
    EXPECT_EQ(first.token_sha256, "s1");
    EXPECT_EQ(first.account, "ann");
    EXPECT_EQ(first.created_realtime_ns, 10U);
    EXPECT_EQ(first.used_realtime_ns, 35U);
    EXPECT_EQ(first.expires_realtime_ns, 12U);
    EXPECT_EQ(first.address, "::\\x1b");
    std::vector<std::string> tokens;
    for (const Session& session : must(store_->accounts().sessions("ann")))
        tokens.push_back(session.token_sha256);
    EXPECT_THAT(tokens, ElementsAre("s2", "s3", "s1"));
    ASSERT_TRUE(store_->accounts().touch_session("s1", 40).ok());
    EXPECT_EQ(must(store_->accounts().find_session("s1"))->used_realtime_ns, 40U);
    EXPECT_EQ(must(store_->accounts().find_session("s2"))->used_realtime_ns, 30U);
    EXPECT_EQ(must(store_->accounts().find_session("s1"))->expires_realtime_ns, 12U);
    ASSERT_TRUE(store_->accounts().remove_session("s1").ok());
    EXPECT_FALSE(signed_in("s1"));
    EXPECT_TRUE(signed_in("s2"));
}

TEST_F(AccountStoreTest, ADisabledOrMissingAccountHasNoSession) {
    ASSERT_EQ(must(store_->accounts().add_account({"off", Role::Reader, "", 1, true})),
              AddOutcome::New);
    sign_in("s1", "off");
    sign_in("s2", "gone");
    EXPECT_FALSE(signed_in("s1"));
    EXPECT_FALSE(signed_in("s2"));
    EXPECT_FALSE(signed_in("none"));
}

}  // namespace
}  // namespace lagtrap::server::account_store_test
