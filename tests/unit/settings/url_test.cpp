#include "settings/url.hpp"

#include <gtest/gtest.h>

namespace lagtrap::settings::url_test {
namespace {

TEST(Url, OnlyThisMachineIsLoopback) {
    for (const char* const host : {"localhost", "::1", "127.0.0.1", "127.1.2.3"})
        EXPECT_TRUE(is_loopback(host)) << host;
    for (const char* const host : {"127.0.example.com", "127.example.com", "10.127.0.1", "127.0.0",
                                   "127.0.0.0.1", "", "example.com"})
        EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(Url, HasAHostWithoutPortAndBrackets) {
    EXPECT_EQ(host_of_url("https://a.b:80/x:y"), "a.b");
    EXPECT_EQ(host_of_url("https://a.b"), "a.b");
    EXPECT_EQ(host_of_url("https://[::1]:80/"), "::1");
}

TEST(Url, NeedsOneOfItsSchemes) {
    EXPECT_EQ(url_problem("http://a", {"https", "http"}), "");
    EXPECT_EQ(url_problem("ftp://a", {"https", "http"}),
              "it must begin with one of https://, http://");
    EXPECT_EQ(url_problem("a", {"https"}), "it must begin with one of https://");
}

}  // namespace
}  // namespace lagtrap::settings::url_test
