#include "uploader/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::uploader::answer_test {
namespace {

using testing::HasSubstr;

TEST(Answer, IsRead) {
    const std::string digest = sha256_of("x");
    const auto answer =
        parse_answer(R"({"digest":")" + digest + R"(","bytes":12,"stored":"already","more":[1]})");
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->digest, digest);
    EXPECT_EQ(answer->bytes, 12U);
    EXPECT_TRUE(answer->already);
}

TEST(Answer, EveryOtherTextIsAnError) {
    const std::string whole = R"({"digest":")" + sha256_of("x") + R"(","bytes":12,"stored":"new"})";
    ASSERT_TRUE(parse_answer(whole).ok());
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(parse_answer(whole.substr(0, length)).ok()) << length;
    EXPECT_FALSE(parse_answer("<html>it works</html>").ok());
    EXPECT_FALSE(parse_answer("[]").ok());
    EXPECT_FALSE(parse_answer(R"({"digest":"abc","bytes":12,"stored":"new"})").ok());
    const std::string digest = R"({"digest":")" + sha256_of("x") + "\"";
    EXPECT_FALSE(parse_answer(digest + R"(,"bytes":-1,"stored":"new"})").ok());
    EXPECT_FALSE(parse_answer(digest + R"(,"bytes":"12","stored":"new"})").ok());
    EXPECT_FALSE(parse_answer(digest + R"(,"bytes":12,"stored":"maybe"})").ok());
    EXPECT_FALSE(parse_answer(digest + R"(,"bytes":12})").ok());
    EXPECT_FALSE(parse_answer(std::string(answer_limit_bytes, ' ') + whole).ok());
    EXPECT_FALSE(parse_answer(std::string(60'000, '[')).ok());
}

TEST(Answer, RefusalsAreQuotedSafely) {
    EXPECT_EQ(error_of_answer(R"({"error":"too \u001b[31mlarge"})"), "too \\x1b[31mlarge");
    EXPECT_EQ(error_of_answer("<html>"), "");
    EXPECT_EQ(error_of_answer(R"({"error":5})"), "");
    EXPECT_EQ(error_of_answer(R"({"error":{"message":"too\u001b large","hint":"send less"}})"),
              "too\\x1b large; send less");
    EXPECT_EQ(error_of_answer(R"({"error":{"message":"no","hint":7}})"), "no");
    EXPECT_EQ(error_of_answer(R"({"error":{"message":[]}})"), "");
    EXPECT_LE(error_of_answer(R"({"error":")" + std::string(5000, 'x') + "\"}").size(), 200U);
}

TEST(Answer, SaysHowManySpansACollectorRefused) {
    using namespace std::string_literals;
    EXPECT_EQ(refused_spans("").count, 0U);
    const auto refused = refused_spans(
        "\x0a\x09\x08\x02\x12\x05"
        "old\x1b["
        "\x18\x01"s);
    EXPECT_EQ(refused.count, 2U);
    EXPECT_EQ(refused.message, "old\\x1b[");
    EXPECT_EQ(refused_spans("\x12\x02\x08\x07"s).count, 0U) << "another field";
    EXPECT_EQ(refused_spans("\x0a\x7f\x08\x02"s).count, 0U) << "cut off";
    EXPECT_EQ(refused_spans("<html>").count, 0U);
}

TEST(Answer, SaysWhatItLacks) {
    const auto problem = [](const std::string& text) { return parse_answer(text).error().message; };
    const std::string digest = R"("digest":")" + sha256_of("x") + "\"";
    EXPECT_EQ(problem("[]"), "the server's answer is not a JSON object");
    const std::string no_digest = "the server's answer has no \"digest\" of 64 hexadecimal digits";
    EXPECT_EQ(problem(R"({"bytes":12,"stored":"new"})"), no_digest);
    EXPECT_EQ(problem(R"({"digest":7,"bytes":12,"stored":"new"})"), no_digest);
    EXPECT_EQ(problem(R"({"digest":"ab","bytes":12,"stored":"new"})"), no_digest);
    const std::string no_bytes = "the server's answer has no number of \"bytes\"";
    EXPECT_EQ(problem("{" + digest + R"(,"stored":"new"})"), no_bytes);
    EXPECT_EQ(problem("{" + digest + R"(,"bytes":1.5,"stored":"new"})"), no_bytes);
    const std::string no_stored = "the server's answer has no \"stored\" of \"new\" or \"already\"";
    EXPECT_EQ(problem("{" + digest + R"(,"bytes":1})"), no_stored);
    EXPECT_EQ(problem("{" + digest + R"(,"bytes":1,"stored":7})"), no_stored);
    EXPECT_FALSE(parse_answer("{" + digest + R"(,"bytes":1,"stored":"new"})")->already);
}

TEST(Answer, RefusalsAreCut) {
    const std::string text(300, 'x');
    EXPECT_EQ(error_of_answer(R"({"error":")" + text + "\"}"), text.substr(0, 200));
    EXPECT_EQ(error_of_answer(R"({"error":{"message":")" + text + R"(","hint":"y"}})"),
              text.substr(0, 200));
    EXPECT_EQ(error_of_answer(R"({"error":{"hint":"y"}})"), "; y");
    EXPECT_EQ(error_of_answer("{}"), "");
    // Each control character takes four.
    EXPECT_EQ(error_of_answer(R"({"error":")" + std::string(150, '\x7f') + "\"}").size(), 200U);
}

}  // namespace
}  // namespace lagtrap::uploader::answer_test
