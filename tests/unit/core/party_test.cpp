#include "core/party.hpp"

#include <gtest/gtest.h>

namespace lagtrap::party_test {
namespace {

TEST(Party, IsAUserOrAContainer) {
    EXPECT_EQ(party_of_user(0), root_party);
    EXPECT_EQ(party_of_user(1000), 1000U);
    EXPECT_EQ(party_of_user(0xEFFFFFFF), 0xEFFFFFFFU);
    EXPECT_EQ(party_of_user(0xF0000000), unknown_party) << "this is the number of a container";
    EXPECT_EQ(party_of_user(0xFFFFFFFF), unknown_party);
    EXPECT_FALSE(is_container(root_party));
    EXPECT_FALSE(is_container(0xEFFFFFFF));
    EXPECT_TRUE(is_container(0xF0000000));
    EXPECT_TRUE(is_container(4'026'532'841));
    EXPECT_TRUE(is_container(0xFFFFFFFD));
    EXPECT_FALSE(is_container(unknown_party));
}

TEST(Party, HasWords) {
    EXPECT_EQ(party_text(root_party), "user 0");
    EXPECT_EQ(party_text(1000), "user 1000");
    EXPECT_EQ(party_text(4'026'532'841), "container 4026532841");
    EXPECT_EQ(party_text(unknown_party), "unknown users");
}

}  // namespace
}  // namespace lagtrap::party_test
