#include "uploader/transfer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::uploader::transfer_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* session = "0a1b2c3d-0000-4000-8000-0123456789ab";
const std::string content = "what a recording contains";

std::string answer_of(const std::string& status, const std::string& body = "",
                      const std::string& headers = "") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}", status,
                       body.size(), headers, body);
}

std::string stored(const std::string& digest, std::size_t size_bytes, const char* how = "new") {
    return answer_of("201 Created", fmt::format(R"({{"digest":"{}","bytes":{},"stored":"{}"}})",
                                                digest, size_bytes, how));
}

const std::string not_there = answer_of("404 Not Found");

class TransferTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-transfer-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        std::ofstream(file()) << content;
    }
    void TearDown() override { fs::remove_all(root_); }

    [[nodiscard]] fs::path file() const { return root_ / "entry"; }
    [[nodiscard]] static Target target_at(const std::string& url) {
        Target target;
        target.url = url;
        target.timeout = seconds(60);
        return target;
    }
    TransferOutcome send(const Target& target, spool::EntryKind kind = spool::EntryKind::Bundle,
                         const Transfer::KeepGoing& keep_going = {}) const {
        return Transfer(target).send(file(), {session, sha256_of(content).substr(0, 16), kind},
                                     keep_going);
    }

    fs::path root_;
};

TEST_F(TransferTest, SendsABundleAfterAskingForIt) {
    ScriptedServer server({not_there, stored(sha256_of(content), content.size())});
    const TransferOutcome outcome = send(target_at(server.url()));
    EXPECT_EQ(outcome.verdict, Verdict::Delivered);
    EXPECT_EQ(outcome.status, 201);
    EXPECT_EQ(outcome.message, "sent");
    EXPECT_FALSE(outcome.already_there);
    const auto& requests = server.requests();
    ASSERT_THAT(requests, SizeIs(2));
    const std::string address = " /api/v1/bundles/" + sha256_of(content) + " HTTP/1.1\r\n";
    EXPECT_THAT(requests[0], AllOf(StartsWith("HEAD" + address),
                                   HasSubstr(std::string("\r\nX-Lagtrap-Session: ") + session),
                                   Not(HasSubstr("Authorization"))));
    EXPECT_THAT(requests[1], AllOf(StartsWith("PUT" + address),
                                   HasSubstr(std::string("\r\nX-Lagtrap-Session: ") + session),
                                   HasSubstr("\r\nContent-Type: application/zstd\r\n"),
                                   EndsWith("\r\n\r\n" + content)));
}

TEST_F(TransferTest, SendsABatchWithTheTokenOfTheFile) {
    const fs::path token = root_ / "token";
    std::ofstream(token) << "secret\n";
    ASSERT_EQ(::chmod(token.c_str(), 0600), 0);
    ScriptedServer server({not_there, stored(sha256_of(content), content.size(), "already")});
    Target target = target_at(server.url());
    target.token_file = token;
    const TransferOutcome outcome = send(target, spool::EntryKind::Batch);
    EXPECT_EQ(outcome.verdict, Verdict::Delivered);
    EXPECT_EQ(outcome.message, "the server already had it");
    for (const std::string& request : server.requests())
        EXPECT_THAT(request, AllOf(HasSubstr(" /api/v1/batches/"),
                                   HasSubstr("\r\nAuthorization: Bearer secret\r\n"),
                                   Not(HasSubstr("X-Lagtrap-Session"))));
    EXPECT_THAT(server.requests(), SizeIs(2));
    target.token_file = root_ / "missing";
    EXPECT_EQ(send(target).verdict, Verdict::TryLater);
}

TEST_F(TransferTest, SendsALargeBundleInPieces) {
    const std::string large(3'000'000, 'x');
    std::ofstream(file()) << large;
    ScriptedServer server({not_there, stored(sha256_of(large), large.size())});
    const TransferOutcome outcome =
        Transfer(target_at(server.url()))
            .send(file(), {session, sha256_of(large).substr(0, 16)}, {});
    EXPECT_EQ(outcome.verdict, Verdict::Delivered) << outcome.message;
    EXPECT_THAT(server.requests().at(1), EndsWith(large));
}

TEST_F(TransferTest, SendsNothingThatTheServerHas) {
    ScriptedServer server(
        {answer_of("200 OK", "", "x-LAGTRAP-digest: \t " + sha256_of(content) + " \r\n")});
    const TransferOutcome outcome = send(target_at(server.url()));
    EXPECT_EQ(outcome.verdict, Verdict::Delivered);
    EXPECT_TRUE(outcome.already_there);
    EXPECT_EQ(outcome.status, 200);
    EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(TransferTest, SendsWhatTheServerHasUnderAnotherDigestOrStatus) {
    for (const std::string& head :
         {answer_of("200 OK", "", "X-Lagtrap-Digest: " + sha256_of("other") + "\r\n"),
          answer_of("204 No Content", "", "X-Lagtrap-Digest: " + sha256_of(content) + "\r\n"),
          "HTTP/1.1 100 Continue\r\nX-Lagtrap-Digest: " + sha256_of(content) + "\r\n\r\n" +
              answer_of("200 OK")}) {
        ScriptedServer server({head, stored(sha256_of(content), content.size())});
        EXPECT_EQ(send(target_at(server.url())).message, "sent");
        EXPECT_THAT(server.requests(), SizeIs(2)) << head;
    }
}

TEST_F(TransferTest, BelievesOnlyAConfirmationOfWhatWasSent) {
    const std::string digest = sha256_of(content);
    const std::string other = sha256_of("other");
    struct Confirmation {
        std::string answer, message;
    };
    for (const Confirmation& one :
         {Confirmation{stored(other, content.size()),
                       "HTTP 201, but the server stored another digest, " + other},
          Confirmation{stored(digest, content.size() + 1),
                       "HTTP 201, but the server stored 26 bytes of 25"},
          Confirmation{answer_of("200 OK", "<html>"), "HTTP 200, but "},
          Confirmation{answer_of("200 OK"), "HTTP 200, but "}}) {
        ScriptedServer server({not_there, one.answer});
        const TransferOutcome outcome = send(target_at(server.url()));
        EXPECT_EQ(outcome.verdict, Verdict::TryLater);
        EXPECT_THAT(outcome.message, StartsWith(one.message));
    }
}

TEST_F(TransferTest, ExplainsWhatTheServerRefuses) {
    struct Refusal {
        std::string answer;
        Verdict verdict;
        std::string message;
        std::optional<seconds> retry_after;
    };
    const std::string hint =
        "; the server rejects the token: check the token file, and the scope of the token on the "
        "server";
    const std::vector<Refusal> refusals{
        {answer_of("422 Unprocessable", R"({"error":{"message":"damaged"}})"),
         Verdict::Rejected,
         "HTTP 422: damaged",
         {}},
        {answer_of("401 Unauthorized"), Verdict::TryLater, "HTTP 401" + hint, {}},
        {answer_of("403 Forbidden"), Verdict::TryLater, "HTTP 403" + hint, {}},
        {answer_of("402 Payment Required"), Verdict::TryLater, "HTTP 402", {}},
        {answer_of("404 Not Found"), Verdict::TryLater, "HTTP 404", {}},
        {answer_of("300 Multiple", "", "Location: https://b/\x01\r\n"),
         Verdict::TryLater,
         R"(HTTP 300; redirects are not followed (to "https://b/\x01"))"
         ": set <url> to the final address",
         {}},
        {answer_of("399 Elsewhere", "", "Location: " + std::string(300, 'l') + "\r\n"),
         Verdict::TryLater,
         "HTTP 399; redirects are not followed (to \"" + std::string(200, 'l') +
             "\"): set <url> to the final address",
         {}},
        {answer_of("503 Busy", "", "Retry-After: 17\r\n"), Verdict::TryLater,
         "HTTP 503; retry after 17 s", seconds(17)},
        {answer_of("503 Busy", "",
                   "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:50:07 "
                   "GMT\r\n"),
         Verdict::TryLater, "HTTP 503; retry after 30 s", seconds(30)},
        {answer_of("422 No", "", "Retry-After: 17\r\n"), Verdict::Rejected, "HTTP 422",
         seconds(17)},
    };
    for (const Refusal& one : refusals) {
        ScriptedServer server({not_there, one.answer});
        const TransferOutcome outcome = send(target_at(server.url()));
        EXPECT_EQ(outcome.verdict, one.verdict) << one.message;
        EXPECT_EQ(outcome.message, one.message);
        EXPECT_EQ(outcome.retry_after, one.retry_after) << one.message;
        EXPECT_FALSE(outcome.cancelled);
    }
}

TEST_F(TransferTest, SendsNothingAfterAnAnswerThatConcernsAllBundles) {
    for (const char* status :
         {"401 Unauthorized", "307 Temporary Redirect", "429 Too Many", "503 Busy"}) {
        ScriptedServer server({answer_of(status), stored(sha256_of(content), content.size())});
        EXPECT_EQ(send(target_at(server.url())).verdict, Verdict::TryLater);
        EXPECT_THAT(server.requests(), SizeIs(1)) << status;
    }
}

TEST_F(TransferTest, RejectsADamagedFileWithoutAskingTheServer) {
    ScriptedServer server({not_there});
    std::ofstream(file()) << content << ".";
    const TransferOutcome outcome = send(target_at(server.url()));
    EXPECT_EQ(outcome.verdict, Verdict::Rejected);
    EXPECT_THAT(outcome.message, HasSubstr("damaged in the spool"));
    EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(TransferTest, ReadsOnlyRegularFiles) {
    ScriptedServer server({not_there});
    fs::remove(file());
    EXPECT_EQ(send(target_at(server.url())).verdict, Verdict::TryLater);
    ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
    EXPECT_EQ(send(target_at(server.url())).message, "not a regular file");
    EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(TransferTest, StopsWhenItIsAskedTo) {
    ScriptedServer server({not_there});
    TransferOutcome outcome =
        send(target_at(server.url()), spool::EntryKind::Bundle, [] { return false; });
    EXPECT_TRUE(outcome.cancelled);
    EXPECT_EQ(outcome.message, "cancelled");
    EXPECT_EQ(outcome.verdict, Verdict::TryLater);
    int left = 2;  // digest and its end
    outcome = send(target_at(server.url()), spool::EntryKind::Bundle, [&] { return left-- > 0; });
    EXPECT_TRUE(outcome.cancelled);
    EXPECT_EQ(outcome.message, "cancelled");
    EXPECT_EQ(outcome.status, 0);
}

TEST_F(TransferTest, TriesAgainIfTheServerCannotBeReached) {
    std::string url;
    {
        const ScriptedServer server({});
        url = server.url();
    }
    const TransferOutcome outcome = send(target_at(url));
    EXPECT_EQ(outcome.verdict, Verdict::TryLater);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_FALSE(outcome.cancelled);
    EXPECT_THAT(outcome.message, Not(IsEmpty()));
}

TEST_F(TransferTest, SendsSpansToACollectorAndCountsWhatItRefuses) {
    ScriptedServer server({answer_of("200 OK"),
                           answer_of("200 OK", std::string("\x0a\x09\x08\x03\x12\x05no me", 11)),
                           answer_of("400 Bad Request")});
    const TransferOutcome sent = send(target_at(server.url()), spool::EntryKind::Spans);
    EXPECT_EQ(sent.verdict, Verdict::Delivered);
    EXPECT_EQ(sent.message, "sent");
    const TransferOutcome partly = send(target_at(server.url()), spool::EntryKind::Spans);
    EXPECT_EQ(partly.verdict, Verdict::Delivered);
    EXPECT_EQ(partly.message, "sent, but the collector refused 3 span(s): no me");
    const TransferOutcome refused = send(target_at(server.url()), spool::EntryKind::Spans);
    EXPECT_EQ(refused.verdict, Verdict::Rejected);
    EXPECT_EQ(refused.message, "HTTP 400");
    ASSERT_THAT(server.requests(), SizeIs(3));
    EXPECT_THAT(server.requests()[0],
                AllOf(StartsWith("POST /v1/traces HTTP/1.1\r\n"),
                      HasSubstr("\r\nContent-Type: application/x-protobuf\r\n"),
                      EndsWith("\r\n\r\n" + content), Not(HasSubstr("X-Lagtrap-Session"))));
}

TEST_F(TransferTest, LimitsTheServersAnswers) {
    const std::string longest(100, 'b');
    ScriptedServer server(
        {answer_of("200 OK", longest), answer_of("200 OK", longest + "b"),
         answer_of("200 OK", "", "X-Filler: " + std::string(70'000, 'h') + "\r\n"),
         answer_of("200 OK", "short", "X-Filler: " + std::string(60'000, 'h') + "\r\n")});
    Transfer transfer(target_at(server.url()));
    const auto body = transfer.get("/a", longest.size(), {});
    ASSERT_TRUE(body.ok()) << body.error().message;
    EXPECT_EQ(*body, longest);
    const auto too_long = transfer.get("/a", longest.size(), {});
    ASSERT_FALSE(too_long.ok());
    EXPECT_THAT(too_long.error().message, EndsWith("the server's answer is longer than 100 bytes"));
    EXPECT_FALSE(transfer.get("/a", longest.size(), {}).ok()) << "headers are limited, too";
    EXPECT_EQ(transfer.get("/a", longest.size(), {}).value(), "short");
}

TEST_F(TransferTest, DownloadsIntoAFile) {
    const std::string body(200'000, 'x');
    ScriptedServer server(
        {answer_of("200 OK", body), answer_of("200 OK", body), answer_of("404 Not Found", body)});
    const auto out = open_file(root_ / "out", O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(out.ok());
    Transfer transfer(target_at(server.url()));
    const auto got = transfer.download("/a", out->get(), body.size(), {});
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->bytes, body.size());
    EXPECT_EQ(got->digest, sha256_of(body));
    EXPECT_EQ(read_file(root_ / "out", 1 << 20).value(), body);
    const auto too_long = transfer.download("/a", out->get(), body.size() - 1, {});
    ASSERT_FALSE(too_long.ok());
    EXPECT_THAT(too_long.error().message, EndsWith("the file is longer than 199999 bytes"));
    const auto missing = transfer.download("/a", out->get(), body.size(), {});
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_LT(fs::file_size(root_ / "out"), 2 * body.size());
}

TEST_F(TransferTest, SaysWhyAFileCannotBeWritten) {
    ScriptedServer server({answer_of("200 OK", "x")});
    const auto full = open_file("/dev/full", O_WRONLY);
    const auto got = Transfer(target_at(server.url())).download("/a", full->get(), 100, {});
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(got.error().message, HasSubstr("No space left"));
}

TEST_F(TransferTest, SaysWhyNothingCanBeFetched) {
    struct Case {
        std::string status;
        ErrorKind kind;
    };
    for (const Case& one :
         {Case{"404 Not Found", ErrorKind::NotFound}, Case{"401 Unauthorized", ErrorKind::Denied},
          Case{"403 Forbidden", ErrorKind::Denied}, Case{"503 Busy", ErrorKind::Busy},
          Case{"422 No", ErrorKind::Invalid}, Case{"204 No Content", ErrorKind::Invalid}}) {
        ScriptedServer server({answer_of(one.status)});
        const auto body = Transfer(target_at(server.url())).get("/list", 100, {});
        ASSERT_FALSE(body.ok()) << one.status;
        EXPECT_EQ(body.error().kind, one.kind) << one.status;
        EXPECT_EQ(body.error().message, server.url() + ": HTTP " + one.status.substr(0, 3));
        EXPECT_THAT(server.requests().at(0), StartsWith("GET /list HTTP/1.1\r\n"));
    }
    ScriptedServer server({answer_of("302 Found", "", "Location: /b\r\n")});
    EXPECT_THAT(Transfer(target_at(server.url())).get("/a", 100, {}).error().message,
                EndsWith("HTTP 302; redirects are not followed (to \"/b\"): use this address"));
    const auto cancelled = Transfer(target_at(server.url())).get("/a", 100, [] { return false; });
    EXPECT_EQ(cancelled.error().kind, ErrorKind::Timeout);
}

}  // namespace
}  // namespace lagtrap::uploader::transfer_test
