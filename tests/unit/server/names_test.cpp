#include "server/accounts/names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/accounts/team_rules.hpp"

namespace lagtrap::server::names_test {
namespace {

using testing::HasSubstr;

TEST(Names, HaveOneToSixtyFourCharacters) {
    for (const std::string& name : {std::string("a"), std::string("Z.9_-"), std::string(64, 'x')}) {
        EXPECT_TRUE(check_account_name(name).ok()) << name;
        EXPECT_TRUE(check_token_name(name).ok()) << name;
    }
    for (const std::string& name :
         {std::string(), std::string(65, 'x'), std::string("a b"), std::string("a/b"),
          std::string("a\n"), std::string("\xc3\xa4")}) {
        EXPECT_FALSE(check_account_name(name).ok()) << name;
        EXPECT_FALSE(check_token_name(name).ok()) << name;
    }
    EXPECT_TRUE(check_account_name("ann@example.org").ok());
    EXPECT_FALSE(check_token_name("ann@example.org").ok()) << "tokens are no addresses";
    EXPECT_THAT(check_account_name("a\n").error().message, HasSubstr("\"a\\x0a\""));
}

TEST(Names, OfRolesAndScopesAreReadAsTheyAreWritten) {
    for (const Role role : {Role::Reader, Role::Uploader, Role::Admin})
        EXPECT_EQ(parse_role(role_name(role)).value(), role);
    EXPECT_STREQ(role_name(Role::Reader), "reader");
    EXPECT_STREQ(role_name(Role::Uploader), "uploader");
    EXPECT_STREQ(role_name(Role::Admin), "admin");
    for (const char* wrong : {"", "Admin", "root", "reader "})
        EXPECT_FALSE(parse_role(wrong).ok()) << wrong;
    for (const char* scope : {"read", "upload", "admin"})
        EXPECT_STREQ(token_scope_name(parse_token_scope(scope).value()), scope);
    EXPECT_STREQ(token_scope_name(ScopeRead | ScopeUpload), "upload");
    EXPECT_STREQ(token_scope_name(ScopeRead | ScopeUpload | ScopeAdmin), "admin");
    EXPECT_EQ(parse_token_scope("read").value(), ScopeRead);
    EXPECT_EQ(parse_token_scope("upload").value(), ScopeUpload);
    for (const char* wrong : {"", "write", "Read"})
        EXPECT_FALSE(parse_token_scope(wrong).ok()) << wrong;
    EXPECT_EQ(parse_token_scope("ro\not").error().message,
              "scope is \"ro\\x0aot\"; expected read, upload or admin");
    EXPECT_EQ(parse_role("root").error().message,
              "role is \"root\"; expected reader, uploader or admin");
    EXPECT_EQ(parse_role(std::string(65, 'x')).error().message,
              "role is \"" + std::string(64, 'x') + "\"; expected reader, uploader or admin");
    EXPECT_EQ(check_account_name("").error().message,
              "name is \"\"; expected 1 to 64 of letters, digits, dot, dash, underscore, at");
    EXPECT_EQ(check_token_name("a@b").error().message,
              "name is \"a@b\"; expected 1 to 64 of letters, digits, dot, dash, underscore");
}

TEST(Teams, HaveLinesWithinLimits) {
    Team team;
    team.name = "shop";
    ASSERT_TRUE(check_team(team).ok());
    for (std::vector<std::string> Team::*lines : {&Team::events, &Team::units, &Team::groups}) {
        Team one = team;
        one.*lines =
            std::vector<std::string>(team_lines_limit, std::string(team_line_limit_bytes, 'x'));
        EXPECT_TRUE(check_team(one).ok());
        (one.*lines).emplace_back("x");
        EXPECT_FALSE(check_team(one).ok()) << "one line more";
        for (const std::string& wrong :
             {std::string(), std::string(team_line_limit_bytes + 1, 'x'), std::string("a\tb")}) {
            one.*lines = {"fine", wrong};
            EXPECT_FALSE(check_team(one).ok()) << wrong;
        }
    }
    team.name = "a@b";
    EXPECT_FALSE(check_team(team).ok());
}

}  // namespace
}  // namespace lagtrap::server::names_test
