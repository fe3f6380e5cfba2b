#include "cli/servers/server_access.hpp"

#include <gtest/gtest.h>

namespace lagtrap::cli::server_access_test {
namespace {

TEST(ServerAccess, ErrorsSayWhichOptionHelps) {
    const auto said = [](ErrorKind kind, bool has_token) {
        return hinted(make_error(kind, "refused"), has_token).message;
    };
    EXPECT_EQ(said(ErrorKind::Denied, false),
              "refused; use --token-file with a token that has the scope read");
    EXPECT_EQ(said(ErrorKind::Denied, true),
              "refused; --token-file needs a token with the scope read (`lagtrap-server token add "
              "NAME --scope read` makes one)");
    EXPECT_EQ(said(ErrorKind::Unsupported, true),
              "refused; if the system does not trust the server's certificate, use --ca FILE");
    EXPECT_EQ(said(ErrorKind::Timeout, false), "refused");
    EXPECT_EQ(hinted(make_error(ErrorKind::Denied, "x"), false).kind, ErrorKind::Denied);
}

TEST(ServerAccess, OtherMachinesAreReachedOverTlsAlone) {
    const std::chrono::seconds time(5);
    EXPECT_TRUE(reach_server({"https://lagtrap.example", "", ""}, time));
    EXPECT_TRUE(reach_server({"http://localhost:7070", "", ""}, time));
    EXPECT_FALSE(reach_server({"http://lagtrap.example", "", ""}, time));
    EXPECT_FALSE(reach_server({"ftp://lagtrap.example", "", ""}, time));
}

TEST(ServerAccess, AnswersAreObjects) {
    EXPECT_EQ(object_in(R"({"a":1})")->at("a"), 1);
    for (const char* odd : {"", "[]", "{", "null", "{} x"}) {
        const auto answer = object_in(odd);
        ASSERT_FALSE(answer) << odd;
        EXPECT_EQ(answer.error().kind, ErrorKind::Invalid);
        EXPECT_EQ(answer.error().message, "the server's answer is not a JSON object");
    }
    EXPECT_EQ(not_as_described().message,
              "unexpected answer of the server; is it older than this program?");
}

TEST(ServerAccess, QueriesAreEncoded) {
    EXPECT_EQ(percent_encoded("azAZ09-._"), "azAZ09-._");
    EXPECT_EQ(percent_encoded("a b&c=/\xc3\xa4~%"), "a%20b%26c%3D%2F%C3%A4%7E%25");
    EXPECT_EQ(percent_encoded("@[`{:"), "%40%5B%60%7B%3A");
    EXPECT_EQ(percent_encoded(""), "");
}

}  // namespace
}  // namespace lagtrap::cli::server_access_test
