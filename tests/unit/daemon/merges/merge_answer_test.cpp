#include "daemon/merges/merge_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::merge_answer_test {
namespace {

using testing::HasSubstr;

const std::string digest(64, 'a');
const std::string name =
    "/spool/ready/0f8fad5b-d9cb-469f-a165-70867728950e-aaaaaaaaaaaaaaaa.lagtrap.tar.zst";

std::string answer(const std::string& path, const std::string& stated_digest) {
    return R"({"bundle":")" + path + R"(","digest":")" + stated_digest + "\"}";
}

bool accepted(const std::string& text) { return parse_merge_answer(text, "/spool/ready").ok(); }

TEST(MergeAnswer, IsTheLastLine) {
    const auto merged =
        parse_merge_answer("working\n" + answer(name, digest) + "\n\n", "/spool/ready");
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->path, name);
    EXPECT_EQ(merged->digest, digest);
    EXPECT_FALSE(accepted(answer(name, digest) + "\nlater"));
}

TEST(MergeAnswer, NamesABundleOfTheSpool) {
    EXPECT_FALSE(accepted(""));
    EXPECT_FALSE(accepted("[]"));
    EXPECT_FALSE(accepted(R"({"bundle":7,"digest":"a"})"));
    EXPECT_FALSE(accepted(R"({"bundle":")" + name + "\"}"));
    EXPECT_FALSE(accepted(answer("/etc/passwd", digest)));
    EXPECT_FALSE(accepted(answer("/spool/ready/../" + name.substr(7), digest)));
    EXPECT_FALSE(accepted(answer("/spool/sent" + name.substr(12), digest)));
}

TEST(MergeAnswer, HasTheDigestOfTheName) {
    EXPECT_FALSE(accepted(answer(name, std::string(64, 'b'))));
    EXPECT_FALSE(accepted(answer(name, std::string(63, 'a'))));
    EXPECT_FALSE(accepted(answer(name, std::string(16, 'a') + std::string(48, 'A'))));
    EXPECT_TRUE(accepted(answer(name, std::string(16, 'a') + std::string(48, '9'))));
}

TEST(MergeAnswer, AnotherTextIsShownInTheError) {
    const auto refused = parse_merge_answer("out of\x1b memory\n", "/spool/ready");
    EXPECT_EQ(refused.error().message,
              "lagtrap-merge returned no bundle in the spool: out of\\x1b memory");
    EXPECT_EQ(shown_output(std::string(2000, 'x')).size(), 1000U);
    EXPECT_EQ(shown_output("\n\n"), "");
}

}  // namespace
}  // namespace lagtrap::daemon::merge_answer_test
