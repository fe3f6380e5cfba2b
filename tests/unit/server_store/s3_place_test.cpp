#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/s3_blobs.hpp"

namespace lagtrap::server::s3_place_test {
namespace {

using testing::HasSubstr;

class S3Address : public testing::Test {
  protected:
    S3Address() {
        for (const char* name : {"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SESSION_TOKEN"})
            ::unsetenv(name);
        ::setenv("AWS_ACCESS_KEY_ID", "key", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    }
    ~S3Address() override {
        for (const char* name :
             {"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})
            ::unsetenv(name);
    }
    static std::string complaint(const std::string& address) {
        const auto place = S3Place::parse(address);
        return place ? "" : place.error().message;
    }
};

TEST_F(S3Address, HasBucketPrefixEndpointAndRegion) {
    const auto place = S3Place::parse(
        "s3://lagtrap/data/bundles?endpoint=https://s3.example:9000/&region=eu-west-1");
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(place->bucket, "lagtrap");
    EXPECT_EQ(place->prefix, "data/bundles/");
    EXPECT_EQ(place->endpoint, "https://s3.example:9000");
    EXPECT_EQ(place->region, "eu-west-1");
    EXPECT_EQ(place->key_id, "key");
    EXPECT_EQ(place->secret, "secret");
}

TEST_F(S3Address, TheAddressComesBeforeTheEnvironment) {
    ::setenv("AWS_ENDPOINT_URL", "https://environment.example", 1);
    ::setenv("AWS_REGION", "us-west-2", 1);
    const auto of_environment = S3Place::parse("s3://lagtrap");
    ASSERT_TRUE(of_environment) << of_environment.error().message;
    EXPECT_EQ(of_environment->endpoint, "https://environment.example");
    EXPECT_EQ(of_environment->region, "us-west-2");
    EXPECT_EQ(of_environment->prefix, "");
    const auto of_address =
        S3Place::parse("s3://lagtrap?region=eu-west-1&endpoint=http://address.example");
    ASSERT_TRUE(of_address) << of_address.error().message;
    EXPECT_EQ(of_address->endpoint, "http://address.example");
    EXPECT_EQ(of_address->region, "eu-west-1");
}

TEST_F(S3Address, WhatIsNotGivenHasADefault) {
    ::setenv("AWS_SESSION_TOKEN", "session", 1);
    const auto place = S3Place::parse("s3://abc/?endpoint=http://s3.example//");
    ::unsetenv("AWS_SESSION_TOKEN");
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(place->bucket, "abc");
    EXPECT_EQ(place->prefix, "");
    EXPECT_EQ(place->endpoint, "http://s3.example");
    EXPECT_EQ(place->region, "us-east-1");
    EXPECT_EQ(place->session_token, "session");
    const auto other = S3Place::parse("s3://a.b-3/Pre_fix-1.x/?endpoint=http://s3.example");
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->prefix, "Pre_fix-1.x/");
    EXPECT_EQ(other->session_token, "");
}

TEST_F(S3Address, EachPartOfTheKeyIsNeeded) {
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
        ::setenv("AWS_ACCESS_KEY_ID", "key", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
        ::unsetenv(name);
        const auto place = S3Place::parse("s3://lagtrap?endpoint=https://s3.example");
        ASSERT_FALSE(place.ok()) << name;
        EXPECT_EQ(place.error().kind, ErrorKind::Denied);
    }
    const auto wrong = S3Place::parse("s3://la?endpoint=https://s3.example");
    EXPECT_EQ(wrong.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(wrong.error().message, HasSubstr("the form is s3://BUCKET"));
}

TEST_F(S3Address, MistakesAreNamed) {
    const std::string endpoint = "?endpoint=https://s3.example";
    EXPECT_EQ(complaint("s3://lagtrap" + endpoint), "");
    EXPECT_THAT(complaint("https://lagtrap"), HasSubstr("is no S3 address"));
    EXPECT_THAT(complaint("s3://la" + endpoint), HasSubstr("the bucket \"la\""));
    EXPECT_THAT(complaint("s3://Lagtrap" + endpoint), HasSubstr("the bucket \"Lagtrap\""));
    EXPECT_THAT(complaint("s3://lagtrap/a b" + endpoint), HasSubstr("the prefix \"a b/\""));
    EXPECT_THAT(complaint("s3://lagtrap"), HasSubstr("the endpoint \"\""));
    EXPECT_THAT(complaint("s3://lagtrap?endpoint=ftp://s3.example"),
                HasSubstr("the endpoint \"ftp://s3.example\""));
    EXPECT_THAT(complaint("s3://lagtrap?endpoint=https://key@s3.example"),
                HasSubstr("is no address of http"));
    EXPECT_THAT(complaint("s3://lagtrap" + endpoint + "&zone=a"), HasSubstr("zone is not known"));
    ::unsetenv("AWS_SECRET_ACCESS_KEY");
    EXPECT_THAT(complaint("s3://lagtrap" + endpoint),
                HasSubstr("needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
}

}  // namespace
}  // namespace lagtrap::server::s3_place_test
