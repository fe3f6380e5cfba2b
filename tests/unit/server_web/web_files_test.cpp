#include "server/web/web_files.hpp"

#include <string>

#include <gmock/gmock.h>

namespace lagtrap::server::web_files_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string index_page() { return std::string(find_web_file("/").value().bytes); }

TEST(WebFiles, PagesOfTheScriptAreTheIndex) {
    for (const auto* path :
         {"/", "/index.html", "/event/a.b c", "/run/12", "/bundles", "/accounts", "/apiary"}) {
        const auto file = find_web_file(path);
        ASSERT_TRUE(file.has_value()) << path;
        EXPECT_EQ(file->content_type, "text/html; charset=utf-8") << path;
        EXPECT_FALSE(file->unchanging) << path;
    }
}

TEST(WebFiles, WhatIsNoPageIsNothing) {
    for (const auto* path :
         {"", "x", "/assets", "/assets/", "/assets/none.js", "/assets/../index.html", "/api",
          "/api/v1/none", "/metrics", "/healthz", "/favicon.ico"})
        EXPECT_FALSE(find_web_file(path).has_value()) << path;
}

TEST(WebFiles, EverythingTheIndexNamesIsThere) {
    const std::string page = index_page();
    std::size_t found = 0;
    for (std::size_t at = page.find("/assets/"); at != std::string::npos;
         at = page.find("/assets/", at + 1)) {
        const std::string path = page.substr(at, page.find('"', at) - at);
        const auto file = find_web_file(path);
        ASSERT_TRUE(file.has_value()) << path;
        EXPECT_TRUE(file->unchanging) << path;
        ++found;
    }
    EXPECT_EQ(found, 2U);
}

TEST(WebFiles, EachHasItsCompressedForms) {
    for (const WebFile& file : web_files()) {
        EXPECT_FALSE(file.bytes.empty()) << file.path;
        EXPECT_THAT(std::string(file.gzip), StartsWith("\x1f\x8b")) << file.path;
        EXPECT_FALSE(file.brotli.empty()) << file.path;
        EXPECT_LT(file.brotli.size(), file.bytes.size()) << file.path;
        EXPECT_EQ(file.etag.size(), 34U) << file.path;
        EXPECT_EQ(file.etag.front(), '"') << file.path;
    }
}

TEST(WebFiles, AllOfItWeighsLessThanAllowed) {
    std::size_t weight = 0;
    for (const WebFile& file : web_files()) weight += file.gzip.size();
    EXPECT_LT(weight, 150'000U);
}

// The policy forbids inline scripts and styles, so there must be none.
TEST(WebFiles, TheIndexKeepsThePolicy) {
    const std::string page = index_page();
    EXPECT_THAT(page, Not(HasSubstr("<style")));
    EXPECT_THAT(page, Not(HasSubstr(" style=")));
    EXPECT_THAT(page, Not(HasSubstr("<script>")));
    EXPECT_THAT(page, Not(HasSubstr("onload=")));
    EXPECT_THAT(std::string(web_content_security_policy), HasSubstr("default-src 'none'"));
    EXPECT_THAT(std::string(web_content_security_policy), Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace lagtrap::server::web_files_test
