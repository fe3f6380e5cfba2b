#include "server/accounts/token_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::server::token_file_test {
namespace {

using testing::HasSubstr;

TEST(TokenFile, AFreshOneIsKnownByItsLine) {
    const auto fresh = make_token("host-1.example", Right::Upload);
    ASSERT_TRUE(fresh.ok()) << fresh.error().message;
    EXPECT_THAT(fresh->token, testing::StartsWith("lt_upload_"));
    EXPECT_THAT(fresh->line, testing::Not(HasSubstr(fresh->token)));
    const auto table = TokenTable::parse("# tokens\n\n" + fresh->line + "\r\n");
    ASSERT_TRUE(table.ok()) << table.error().message;
    const auto found = table->find(fresh->token);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->name, "host-1.example");
    EXPECT_TRUE(found->may(Right::Upload));
    EXPECT_FALSE(found->may(Right::Read));
    EXPECT_FALSE(found->may(Right::Administer));
    EXPECT_FALSE(table->find(fresh->token + "0").has_value());
    EXPECT_FALSE(table->find("").has_value());
    EXPECT_FALSE(table->find(sha256_of(fresh->token)).has_value());
    EXPECT_NE(make_token("a", Right::Upload)->token, make_token("a", Right::Upload)->token);
}

TEST(TokenFile, AdminMayDoEverything) {
    const auto fresh = make_token("root", Right::Administer);
    const auto table = TokenTable::parse(fresh->line);
    for (const Right right : {Right::Upload, Right::Read, Right::Administer})
        EXPECT_TRUE(table->find(fresh->token)->may(right));
}

TEST(TokenFile, WrongFilesAreNamedByLine) {
    const std::string digest = sha256_of("x");
    const auto message = [](const std::string& text) {
        const auto table = TokenTable::parse(text);
        return table ? "accepted" : table.error().message;
    };
    EXPECT_THAT(message(""), HasSubstr("holds no token"));
    EXPECT_THAT(message("a read " + digest + "\na upload " + digest),
                HasSubstr("line 2: \"a\" is there twice"));
    EXPECT_THAT(message("#\na write " + digest),
                HasSubstr("line 2: scope is \"write\"; expected upload, read or admin"));
    EXPECT_THAT(message("a read " + digest.substr(1)), HasSubstr("line 1"));
    EXPECT_THAT(message("a read"), HasSubstr("NAME SCOPE TOKEN_SHA256"));
    EXPECT_THAT(message("\x1b[31m read " + digest), HasSubstr("\\x1b"));
    EXPECT_FALSE(make_token("two words", Right::Read).ok());
    EXPECT_FALSE(make_token("", Right::Read).ok());
}

TEST(TokenFile, NamesAreOfLettersDigitsDotDashAndUnderscore) {
    const auto accepted = [](const std::string& name) {
        const bool read = TokenTable::parse(name + " read " + sha256_of("x")).ok();
        EXPECT_EQ(make_token(name, Right::Read).ok(), read) << name;
        return read;
    };
    EXPECT_TRUE(accepted("abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    EXPECT_TRUE(accepted("0123456789.-_"));
    EXPECT_TRUE(accepted("_"));
    EXPECT_TRUE(accepted(std::string(64, 'a')));
    EXPECT_FALSE(accepted(std::string(65, 'a')));
    for (const char* other : {"a:b", "a/b", "a@b", "a+b", "\u00e9"}) EXPECT_FALSE(accepted(other));
    EXPECT_THAT(make_token("a:b", Right::Read).error().message,
                HasSubstr("\"a:b\"; expected 1 to 64 of letters, digits, dot, dash, underscore"));
}

TEST(TokenFile, MustNotBeWritableByEveryUser) {
    const auto path =
        std::filesystem::path(testing::TempDir()) / ("tokens-" + std::to_string(::getpid()));
    const auto fresh = make_token("host", Right::Upload);
    std::ofstream(path) << fresh->line << "\n";
    const auto outcome = [&](mode_t mode) {
        EXPECT_EQ(::chmod(path.c_str(), mode), 0);
        const auto table = TokenTable::load(path.string());
        return table ? std::to_string(table->size()) : table.error().message;
    };
    EXPECT_EQ(outcome(0600), "1");
    EXPECT_EQ(outcome(0664), "1");
    EXPECT_EQ(outcome(0602), path.string() + ": every user may write to it; chmod o-w it");
    std::ofstream(path, std::ios::trunc) << "host read\n";
    EXPECT_EQ(outcome(0600), path.string() + ": line 1: expected \"NAME SCOPE TOKEN_SHA256\"");
    std::filesystem::remove(path);
    EXPECT_FALSE(TokenTable::load(path.string()).ok());
}

TEST(TokenFile, AreTakenFromBearerAndBasic) {
    EXPECT_EQ(token_of_header("Bearer abc"), "abc");
    EXPECT_EQ(token_of_header("bearer  abc "), "abc");
    EXPECT_EQ(token_of_header("Basic YW55OnNlY3JldA=="), "secret");  // any:secret
    for (const char* header :
         {"", "Bearer", "Bearer a b", "Digest abc", "Basic !!!!", "Basic YW55", "Basic ="})
        EXPECT_EQ(token_of_header(header), "") << header;
}

}  // namespace
}  // namespace lagtrap::server::token_file_test
