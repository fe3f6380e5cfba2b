#include "server/store/team_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::team_store_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TeamStoreTest : public StoreTest {
  protected:
    void SetUp() override {
        StoreTest::SetUp();
        for (const char* name : {"zoe", "ann", "bob"})
            ASSERT_EQ(must(store_->accounts().add_account({name, Role::Reader, "", 1, false})),
                      AddOutcome::New);
    }
    void set(const Team& team) { ASSERT_TRUE(store_->teams().set_team(team).ok()); }
    void join(const std::string& team, const std::string& account) {
        ASSERT_TRUE(must(store_->teams().join_team(team, account)));
    }
    void sign_in(const std::string& account, const std::vector<std::string>& groups) {
        ASSERT_TRUE(store_->teams().set_teams_by_groups(account, groups).ok());
    }
    // "ann*" is a member by group.
    std::vector<std::string> members(std::size_t team) {
        std::vector<std::string> names;
        const auto teams = must(store_->teams().list());
        for (const Team::Member& member : teams.at(team).members)
            names.push_back(member.account + (member.by_group ? "*" : ""));
        return names;
    }
    std::vector<std::string> teams_of(const std::string& account) {
        std::vector<std::string> names;
        for (const Team& team : must(store_->teams().teams_of(account))) names.push_back(team.name);
        return names;
    }
};

TEST_F(TeamStoreTest, TeamsComeBackAsTheyWereByName) {
    set({"shop", {"e1", "e 2"}, {"u1", "u2"}, {"g1", "g2"}});
    set({"all", {}, {}, {}});
    join("shop", "zoe");
    join("shop", "ann");
    const auto teams = must(store_->teams().list());
    ASSERT_THAT(teams, SizeIs(2));
    EXPECT_EQ(teams[0].name, "all");
    EXPECT_THAT(teams[0].events, IsEmpty());
    EXPECT_THAT(teams[0].members, IsEmpty());
    EXPECT_EQ(teams[1].name, "shop");
    EXPECT_THAT(teams[1].events, ElementsAre("e1", "e 2"));
    EXPECT_THAT(teams[1].units, ElementsAre("u1", "u2"));
    EXPECT_THAT(teams[1].groups, ElementsAre("g1", "g2"));
    EXPECT_THAT(members(1), ElementsAre("ann", "zoe"));
    const Team of_ann = must(store_->teams().teams_of("ann")).at(0);
    EXPECT_THAT(of_ann.units, ElementsAre("u1", "u2"));
    EXPECT_THAT(of_ann.members, IsEmpty());
}

TEST_F(TeamStoreTest, ATeamThatIsSetAgainKeepsItsMembers) {
    set({"shop", {"e1"}, {"u1"}, {"g1"}});
    join("shop", "ann");
    EXPECT_EQ(must(store_->teams().set_team({"shop", {"e2"}, {"u2"}, {"g2"}})),
              AddOutcome::Already);
    const Team team = must(store_->teams().list()).at(0);
    EXPECT_THAT(team.events, ElementsAre("e2"));
    EXPECT_THAT(team.units, ElementsAre("u2"));
    EXPECT_THAT(team.groups, ElementsAre("g2"));
    EXPECT_THAT(members(0), ElementsAre("ann"));
}

TEST_F(TeamStoreTest, ThereAreAThousandAtMost) {
    ASSERT_TRUE(backend_
                    ->script("WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE "
                             "i < " +
                             std::to_string(teams_limit) +
                             ") INSERT INTO team(name, events, units, sso_groups) SELECT 'team ' "
                             "|| i, '', '', '' FROM n")
                    .ok());
    EXPECT_EQ(must(store_->teams().set_team({"last", {}, {}, {}})), AddOutcome::New);
    const auto refused = store_->teams().set_team({"one more", {}, {}, {}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(must(store_->teams().set_team({"last", {"x"}, {}, {}})), AddOutcome::Already);
}

TEST_F(TeamStoreTest, ATeamGoesIfItsMembersHaveAnother) {
    set({"a", {}, {}, {}});
    set({"b", {}, {}, {}});
    join("a", "ann");
    join("a", "bob");
    join("a", "zoe");
    join("b", "zoe");
    const auto refused = store_->teams().remove_team("a");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Busy);
    EXPECT_THAT(refused.error().message, HasSubstr("2 of its accounts"));
    EXPECT_THAT(members(0), SizeIs(3));
    join("b", "ann");
    join("b", "bob");
    EXPECT_TRUE(must(store_->teams().remove_team("a")));
    EXPECT_THAT(teams_of("ann"), ElementsAre("b"));
    set({"a", {}, {}, {}});
    EXPECT_THAT(members(0), IsEmpty());
}

TEST_F(TeamStoreTest, MembershipsByGroupLastUntilTheNextSignIn) {
    set({"a", {}, {}, {"devs"}});
    set({"b", {}, {}, {"ops", "devs"}});
    set({"c", {}, {}, {"*"}});
    set({"d", {}, {}, {}});
    join("a", "ann");
    join("d", "ann");
    sign_in("ann", {"other", "devs"});
    EXPECT_THAT(teams_of("ann"), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(members(0), ElementsAre("ann")) << "who was made a member stays one";
    EXPECT_THAT(members(1), ElementsAre("ann*"));
    sign_in("bob", {"ops"});
    EXPECT_THAT(teams_of("bob"), ElementsAre("b", "c"));
    sign_in("ann", {});
    EXPECT_THAT(teams_of("ann"), ElementsAre("a", "c", "d"));
    EXPECT_THAT(teams_of("bob"), ElementsAre("b", "c"));
    // A person's decision makes it last.
    join("c", "ann");
    EXPECT_THAT(members(2), ElementsAre("ann", "bob*"));
    set({"c", {}, {}, {}});
    sign_in("ann", {});
    EXPECT_THAT(teams_of("ann"), ElementsAre("a", "c", "d"));
}

TEST_F(TeamStoreTest, OnlyTheAccountLeavesAndOnlyThatTeam) {
    for (const char* team : {"a", "b"}) {
        set({team, {}, {}, {}});
        join(team, "ann");
        join(team, "bob");
    }
    EXPECT_TRUE(must(store_->teams().leave_team("a", "ann")));
    EXPECT_THAT(teams_of("ann"), ElementsAre("b"));
    EXPECT_THAT(teams_of("bob"), ElementsAre("a", "b"));
    EXPECT_FALSE(must(store_->teams().join_team("a", "nobody")));
    EXPECT_FALSE(must(store_->teams().join_team("none", "ann")));
}

}  // namespace
}  // namespace lagtrap::server::team_store_test
