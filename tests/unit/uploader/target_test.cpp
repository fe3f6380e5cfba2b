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

}  // namespace
}  // namespace lagtrap::uploader::target_test
