#include "core/accounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::accounts_test {
namespace {

TEST(Accounts, FindsAGroupByItsName) {
    const auto root = find_group("root");
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(*root, 0U);
}

TEST(Accounts, AGroupThatIsNotThereIsNamed) {
    const auto group = find_group("no-such\ngroup");
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(group.error().message, "no group \"no-such\\x0agroup\"");
}

}  // namespace
}  // namespace lagtrap::accounts_test
