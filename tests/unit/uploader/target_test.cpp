#include "uploader/target.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::uploader::target_test {
namespace {

using testing::HasSubstr;

Result<Target> target_of(const std::string& url, PlainHttp plain_http = PlainHttp::Refuse) {
    settings::Upload upload;
    upload.url = url;
    return make_target(upload, plain_http);
}

TEST(Target, MakesTheAddressOfABundle) {
    const auto target = target_of("https://delays.example.org:8443/lagtrap/");
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_EQ(entry_url(*target, spool::EntryKind::Bundle, "abc"),
              "https://delays.example.org:8443/lagtrap/api/v1/bundles/abc");
    EXPECT_EQ(entry_url(*target_of("https://delays.example.org"), spool::EntryKind::Batch, "abc"),
              "https://delays.example.org/api/v1/batches/abc");
}

TEST(Target, RefusesWhatIsNoUploadAddress) {
    for (const char* url :
         {"", "delays.example.org", "ftp://delays.example.org", "file:///etc/passwd",
          "https://user:secret@delays.example.org", "https://delays.example.org/?a=b",
          "https://delays.example.org/#x", "https://", "https://a b/"})
        EXPECT_FALSE(target_of(url, PlainHttp::Allow).ok()) << url;
}

TEST(Target, PlainHttpIsForThisMachineUnlessAllowed) {
    for (const char* url : {"http://localhost:7788", "http://127.0.0.1:7788", "http://[::1]:7788"})
        EXPECT_TRUE(target_of(url).ok()) << url;
    for (const char* url :
         {"http://delays.example.org", "http://127.example.org", "http://127.0.0.1.example.org"}) {
        const auto refused = target_of(url);
        ASSERT_FALSE(refused.ok()) << url;
        EXPECT_THAT(refused.error().message, HasSubstr("plain http"));
        EXPECT_TRUE(target_of(url, PlainHttp::Allow).ok()) << url;
    }
}

class TokenTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-token-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::string file(const std::string& content, unsigned mode = 0640) {
        const std::string path = directory_ / "token";
        std::ofstream(path) << content;
        EXPECT_EQ(::chmod(path.c_str(), mode), 0);
        return path;
    }
    std::filesystem::path directory_;
};

TEST_F(TokenTest, IsOneLine) {
    EXPECT_EQ(read_token(file("abc-DEF_123\n")).value(), "abc-DEF_123");
    for (const char* content : {"", "\n", "two words\n", "a\nb\n", "a\tb", "caf\xc3\xa9"})
        EXPECT_FALSE(read_token(file(content)).ok()) << content;
    EXPECT_EQ(read_token(file(std::string(5000, 'x'))).error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(read_token(directory_ / "missing").error().kind, ErrorKind::NotFound);
}

TEST_F(TokenTest, MustNotBeReadableForOthers) {
    const auto token = read_token(file("abc\n", 0644));
    ASSERT_FALSE(token.ok());
    EXPECT_THAT(token.error().message, HasSubstr("chmod"));
}

TEST(Target, HasWhatTheSettingsSay) {
    settings::Upload upload;
    upload.url = "https://delays.example.org//";
    upload.token_file = "/token";
    upload.ca_file = "/ca";
    upload.proxy = "http://proxy:3128";
    upload.timeout = std::chrono::seconds(77);
    const auto target = make_target(upload, PlainHttp::Refuse);
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_EQ(target->url, "https://delays.example.org");
    EXPECT_EQ(target->token_file, "/token");
    EXPECT_EQ(target->ca_file, "/ca");
    EXPECT_EQ(target->proxy, "http://proxy:3128");
    EXPECT_EQ(target->timeout, std::chrono::seconds(77));
    EXPECT_EQ(target->connect_timeout, std::chrono::seconds(15));
    EXPECT_EQ(target->slowest_bytes_per_second, 512U);
    EXPECT_EQ(target->stall_timeout, std::chrono::seconds(60));
    EXPECT_EQ(entry_url(*target, spool::EntryKind::Spans, "abc"),
              "https://delays.example.org/v1/traces");
}

TEST(Target, SaysWhatIsWrongWithAnAddress) {
    const auto problem = [](const std::string& url) {
        const auto target = target_of(url);
        EXPECT_FALSE(target.ok());
        EXPECT_EQ(target.error().kind, ErrorKind::Invalid);
        const std::string begin = "upload address \"" + url + "\": ";
        EXPECT_EQ(target.error().message.substr(0, begin.size()), begin);
        return target.error().message.substr(begin.size());
    };
    const std::string none = "not an address; expected https://host[:port][/path]";
    EXPECT_EQ(problem("delays.example.org"), none);
    EXPECT_EQ(problem("https://a b/"), none);
    EXPECT_EQ(problem("ftp://delays.example.org"), "only https and http are supported");
    const std::string user = "contains a user or password; use a token file";
    EXPECT_EQ(problem("https://user@h"), user);
    EXPECT_EQ(problem("https://:secret@h"), user);
    const std::string query = "must not have a query or fragment";
    EXPECT_EQ(problem("https://h/?a=b"), query);
    EXPECT_EQ(problem("https://h/#x"), query);
    EXPECT_EQ(problem("http://h"),
              "plain http would expose token and bundles; use https, or allow it");
    EXPECT_THAT(target_of("h\x1b").error().message, HasSubstr("\"h\\x1b\""));
}

TEST_F(TokenTest, EndsWithItsLine) {
    EXPECT_EQ(read_token(file("abc\r\n\n")).value(), "abc");
    EXPECT_EQ(read_token(file("!~")).value(), "!~");
    EXPECT_EQ(read_token(file(std::string(4096, 'x'))).value().size(), 4096U);
    const auto longer = read_token(file(std::string(4097, 'x')));
    ASSERT_FALSE(longer.ok());
    EXPECT_EQ(longer.error().message, (directory_ / "token").string() + ": larger than 4096 bytes");
    EXPECT_EQ(read_token(file("a b")).error().message,
              (directory_ / "token").string() +
                  ": expected one line with a token of printable characters");
    EXPECT_FALSE(read_token(file("a\x7f")).ok());
}

TEST_F(TokenTest, IsRefusedWithAnyRightOfOthers) {
    for (const unsigned mode : {0644U, 0642U, 0641U}) {
        const auto token = read_token(file("abc\n", mode));
        ASSERT_FALSE(token.ok()) << mode;
        EXPECT_EQ(token.error().kind, ErrorKind::Denied);
        EXPECT_EQ(token.error().message,
                  (directory_ / "token").string() + ": readable by every user; run chmod o= on it");
    }
    EXPECT_TRUE(read_token(file("abc\n", 0660)).ok());
}

}  // namespace
}  // namespace lagtrap::uploader::target_test
