#include "settings/program_name.hpp"

#include <gmock/gmock.h>

namespace lagtrap::settings::program_name_test {
namespace {

TEST(ProgramName, KindsOfNames) {
    EXPECT_EQ(kind_of_program("/usr/bin/redis-server"), ProgramName::Path);
    EXPECT_EQ(kind_of_program("*/redis-server"), ProgramName::Pattern);
    EXPECT_EQ(kind_of_program("/usr/lib/postgresql/1?/bin/postgres"), ProgramName::Pattern);
    EXPECT_EQ(kind_of_program("build-id:0123456789abcdef"), ProgramName::BuildId);
}

TEST(ProgramName, Patterns) {
    EXPECT_TRUE(matches_pattern("*/redis-server", "/usr/local/bin/redis-server"));
    EXPECT_TRUE(matches_pattern("*/redis-server", "/redis-server"));
    EXPECT_FALSE(matches_pattern("*/redis-server", "/usr/bin/redis-server-7"));
    EXPECT_FALSE(matches_pattern("*/redis-server", "/usr/bin/my-redis-server"));
    EXPECT_TRUE(matches_pattern("/usr/lib/postgresql/*/bin/postgres",
                                "/usr/lib/postgresql/15/bin/postgres"));
    EXPECT_TRUE(matches_pattern("/a?c", "/abc"));
    EXPECT_FALSE(matches_pattern("/a?c", "/ac"));
    EXPECT_TRUE(matches_pattern("/*a*b", "/xaxbxab"));
    EXPECT_TRUE(matches_pattern("/x*", "/x"));
    EXPECT_FALSE(matches_pattern("", "/x"));
    EXPECT_TRUE(matches_pattern("**", ""));
}

// With backtracking for each star it would take practically forever.
TEST(ProgramName, PatternsOfManyStarsAreQuick) {
    std::string pattern;
    for (int i = 0; i < 1000; ++i) pattern += "*a";
    EXPECT_FALSE(matches_pattern(pattern + "b", std::string(4000, 'a')));
}

TEST(ProgramName, WhichFilesAreMeant) {
    EXPECT_TRUE(means_file("/usr/bin/app", "/usr/bin/app", ""));
    EXPECT_FALSE(means_file("/usr/bin/app", "/usr/local/bin/app", ""));
    EXPECT_TRUE(means_file("*/app", "/usr/local/bin/app", ""));
    EXPECT_TRUE(means_file("build-id:0123456789abcdef", "/any", "0123456789abcdef"));
    EXPECT_FALSE(means_file("build-id:0123456789abcdef", "/any", "0123456789abcdee"));
    EXPECT_FALSE(means_file("build-id:0123456789abcdef", "/any", ""));
}

TEST(ProgramName, LastParts) {
    EXPECT_EQ(file_name_of("/usr/bin/app"), "app");
    EXPECT_EQ(file_name_of("*/app*"), "app*");
    EXPECT_EQ(file_name_of("build-id:0123456789abcdef"), "");
}

}  // namespace
}  // namespace lagtrap::settings::program_name_test
