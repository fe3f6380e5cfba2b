#include "server/accounts/principal.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::principal_test {
namespace {

Principal with(bool may_read, bool may_upload, bool may_administer) {
    Principal principal;
    principal.may_read = may_read;
    principal.may_upload = may_upload;
    principal.may_administer = may_administer;
    return principal;
}

std::string rights_of(const Principal& principal) {
    std::string rights;
    for (const Right right : {Right::Read, Right::Upload, Right::Administer})
        if (principal.may(right)) rights += std::string(right_name(right)) + " ";
    return rights;
}

TEST(Principal, MayDoWhatItsRightsAllow) {
    EXPECT_EQ(rights_of({}), "");
    EXPECT_EQ(rights_of(with(true, false, false)), "read ");
    EXPECT_EQ(rights_of(with(false, true, false)), "upload ");
    EXPECT_EQ(rights_of(with(true, true, false)), "read upload ");
    EXPECT_EQ(rights_of(with(false, false, true)), "read upload admin ");
}

TEST(Principal, HasTheWidestRole) {
    EXPECT_STREQ(with(true, false, false).role(), "reader");
    EXPECT_STREQ(with(false, true, false).role(), "uploader");
    EXPECT_STREQ(with(true, true, false).role(), "uploader");
    EXPECT_STREQ(with(true, true, true).role(), "admin");
    EXPECT_STREQ(with(false, false, true).role(), "admin");
}

TEST(Right, HasANameAsInTokenFiles) {
    EXPECT_STREQ(right_name(Right::Read), "read");
    EXPECT_STREQ(right_name(Right::Upload), "upload");
    EXPECT_STREQ(right_name(Right::Administer), "admin");
}

}  // namespace
}  // namespace lagtrap::server::principal_test
