#include "server/api/tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::server {
namespace {

using testing::HasSubstr;
using Answer = TokenTable::Answer;

TEST(Tokens, AFreshOneIsKnownByItsLine) {
    const auto fresh = make_token("host-1.example", Scope::Upload);
    ASSERT_TRUE(fresh.ok()) << fresh.error().message;
    EXPECT_THAT(fresh->token, testing::StartsWith("lt_upload_"));
    EXPECT_THAT(fresh->line, testing::Not(HasSubstr(fresh->token)));
    const auto table = TokenTable::parse("# tokens\n\n" + fresh->line + "\r\n");
    ASSERT_TRUE(table.ok()) << table.error().message;
    const auto check = table->check(fresh->token, Scope::Upload);
    EXPECT_EQ(check.answer, Answer::Allowed);
    EXPECT_EQ(check.name, "host-1.example");
    EXPECT_EQ(table->check(fresh->token, Scope::Read).answer, Answer::WrongScope);
    EXPECT_EQ(table->check(fresh->token + "0", Scope::Upload).answer, Answer::Unknown);
    EXPECT_EQ(table->check("", Scope::Upload).answer, Answer::Unknown);
    EXPECT_EQ(table->check(sha256_of(fresh->token), Scope::Upload).answer, Answer::Unknown);
    EXPECT_NE(make_token("a", Scope::Upload)->token, make_token("a", Scope::Upload)->token);
}

TEST(Tokens, AdminMayDoEverything) {
    const auto fresh = make_token("root", Scope::Admin);
    const auto table = TokenTable::parse(fresh->line);
    for (const Scope scope : {Scope::Upload, Scope::Read, Scope::Admin})
        EXPECT_EQ(table->check(fresh->token, scope).answer, Answer::Allowed);
}

TEST(Tokens, WrongFilesAreNamedByLine) {
    const std::string digest = sha256_of("x");
    const auto message = [](const std::string& text) {
        const auto table = TokenTable::parse(text);
        return table ? "accepted" : table.error().message;
    };
    EXPECT_THAT(message(""), HasSubstr("holds no token"));
    EXPECT_THAT(message("a read " + digest + "\na upload " + digest), HasSubstr("line 2: \"a\" is there twice"));
    EXPECT_THAT(message("#\na write " + digest),
                HasSubstr("line 2: scope is \"write\"; expected upload, read or admin"));
    EXPECT_THAT(message("a read " + digest.substr(1)), HasSubstr("line 1"));
    EXPECT_THAT(message("a read"), HasSubstr("NAME SCOPE TOKEN_SHA256"));
    EXPECT_THAT(message("\x1b[31m read " + digest), HasSubstr("\\x1b"));
    EXPECT_FALSE(make_token("two words", Scope::Read).ok());
    EXPECT_FALSE(make_token("", Scope::Read).ok());
}

TEST(Tokens, AreTakenFromBearerAndBasic) {
    EXPECT_EQ(token_of_header("Bearer abc"), "abc");
    EXPECT_EQ(token_of_header("bearer  abc "), "abc");
    EXPECT_EQ(token_of_header("Basic YW55OnNlY3JldA=="), "secret");  // any:secret
    for (const char* header : {"", "Bearer", "Bearer a b", "Digest abc", "Basic !!!!", "Basic YW55", "Basic ="})
        EXPECT_EQ(token_of_header(header), "") << header;
}

}  // namespace
}  // namespace lagtrap::server
