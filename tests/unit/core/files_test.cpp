#include "core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::test::files_test {
namespace {

using ::testing::HasSubstr;

class Files : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "lagtrap-test-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::size_t entries() const {
        const std::filesystem::directory_iterator all(folder_);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    std::filesystem::path folder_;
};

TEST_F(Files, AreWrittenWhole) {
    const auto path = folder_ / "file";
    const std::string content("one\0two\n", 8);
    ASSERT_TRUE(write_file_durably(path, content, 0640));
    EXPECT_EQ(read_file(path, 100).value(), content);
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0640U);
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AreReplacedAndNotChanged) {
    const auto path = folder_ / "file";
    ASSERT_TRUE(write_file_durably(path, "before"));
    const auto old = open_file(path, O_RDONLY);
    ASSERT_TRUE(old);
    ASSERT_TRUE(write_file_durably(path, "after"));
    // a concurrent reader does not see a mixture
    EXPECT_EQ(read_all(old->get(), 100).value(), "before");
    EXPECT_EQ(read_file(path, 100).value(), "after");
}

TEST_F(Files, LeaveNothingBehindWhereWritingFails) {
    const auto path = folder_ / "taken";
    std::filesystem::create_directory(path);
    const auto status = write_file_durably(path, "content");
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr(path.string()));
    EXPECT_EQ(entries(), 1U);
    EXPECT_EQ(write_file_durably(folder_ / "absent" / "file", "").error().kind,
              ErrorKind::NotFound);
}

TEST_F(Files, AreReadUpToALimit) {
    const auto path = folder_ / "file";
    ASSERT_TRUE(write_file_durably(path, "12345"));
    EXPECT_EQ(read_file(path, 5).value(), "12345");
    const auto larger = read_file(path, 4);
    ASSERT_FALSE(larger);
    EXPECT_EQ(larger.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(read_file(folder_ / "absent", 4).error().kind, ErrorKind::NotFound);
}

// The examples of FIPS 180-2, appendix B.
TEST_F(Files, HaveTheDigestOfTheStandard) {
    const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    EXPECT_EQ(sha256_of("abc"), abc);
    EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    Sha256 in_pieces;
    in_pieces.update("a", 1);
    in_pieces.update("bc", 2);
    EXPECT_EQ(in_pieces.finish_hex(), abc);
    ASSERT_TRUE(write_file_durably(folder_ / "file", "abc"));
    EXPECT_EQ(sha256_of_file(folder_ / "file").value(), abc);
    EXPECT_FALSE(sha256_of_file(folder_ / "absent"));
}

TEST(Digest, IsKnownByItsSpelling) {
    EXPECT_TRUE(is_sha256_hex(sha256_of("abc")));
    EXPECT_FALSE(is_sha256_hex(sha256_of("abc").substr(1)));
    EXPECT_FALSE(is_sha256_hex(std::string(64, 'G')));
    EXPECT_FALSE(is_sha256_hex(std::string(64, 'A')));
}

}  // namespace
}  // namespace lagtrap::test::files_test
