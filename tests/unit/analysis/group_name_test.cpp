#include "analysis/group_name.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::analysis::group_name_test {
namespace {

TEST(GroupName, KeepsTheBeginOfIdentifiers) {
    const std::string identifier = "0123456789abcdef0123456789abcdef";
    EXPECT_EQ(short_group_name("/docker/" + identifier + identifier), "/docker/0123456789ab");
    EXPECT_EQ(short_group_name("cri-containerd-" + identifier + ".scope"),
              "cri-containerd-0123456789ab.scope");
    EXPECT_EQ(short_group_name(identifier + "/" + identifier), "0123456789ab/0123456789ab");
}

TEST(GroupName, KeepsOtherNames) {
    for (const std::string name :
         {"nginx.service", "", "/", "/a/b", "0123456789abcdef0123456789abcde", "user@1000.service"})
        EXPECT_EQ(short_group_name(name), name);
}

}  // namespace
}  // namespace lagtrap::analysis::group_name_test
