#include "uploader/request.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::uploader::request_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string answer_of(const std::string& status, const std::string& body = "",
                      const std::string& headers = "") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}", status,
                       body.size(), headers, body);
}

UniqueFd file_with(const std::string& content) {
    UniqueFd file(::memfd_create("body", MFD_CLOEXEC));
    EXPECT_TRUE(write_all(file.get(), content.data(), content.size()));
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
    return file;
}

class RequestTest : public testing::Test {
  protected:
    RequestTest() : curl_(curl_easy_init(), curl_easy_cleanup) {
        target_.timeout = seconds(60);
        for (const char* name : {"http_proxy", "all_proxy", "no_proxy", "NO_PROXY", "ALL_PROXY"})
            ::unsetenv(name);
    }
    Request request(const std::string& url) {
        target_.url = url;
        return {curl_.get(), target_, url, keep_going_};
    }
    // Serves this answer to a GET.
    Response got(const std::string& answer, std::size_t limit = 1000) {
        ScriptedServer server({answer});
        return request(server.url()).get(limit);
    }

    std::unique_ptr<CURL, void (*)(CURL*)> curl_;
    Target target_;
    Transfer::KeepGoing keep_going_;
};

TEST_F(RequestTest, KeepsWhatTheServerAnswers) {
    const Response response = got(answer_of("201 Created", "the body",
                                            "X-LAGTRAP-Digest:  d1 \r\nRETRY-after: 17\r\n"
                                            "Date: today\r\nlocation:\t/b\r\n"));
    EXPECT_EQ(response.result, CURLE_OK);
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.body, "the body");
    EXPECT_EQ(response.digest, "d1");
    EXPECT_EQ(response.retry_after, "17");
    EXPECT_EQ(response.date, "today");
    EXPECT_EQ(response.location, "/b");
    EXPECT_FALSE(response.found);
    EXPECT_GT(response.header_bytes, 100U);
    EXPECT_TRUE(got(answer_of("200 OK")).found);
}

TEST_F(RequestTest, ForgetsTheHeadersOfAnInterimAnswer) {
    const Response response =
        got("HTTP/1.1 103 Early Hints\r\nX-Lagtrap-Digest: d1\r\nRetry-After: 17\r\nDate: today\r\n"
            "Location: /b\r\n\r\n" +
            answer_of("404 Not Found"));
    EXPECT_EQ(response.status, 404);
    EXPECT_EQ(response.digest + response.retry_after + response.date + response.location, "");
}

TEST_F(RequestTest, SaysWhoItIsAndAsksForTheUrl) {
    ScriptedServer server({answer_of("200 OK"), answer_of("200 OK"), answer_of("200 OK")});
    Request own = request(server.url() + "/list?x=1");
    own.add_header("X-One: 1");
    own.add_header("X-Two: 2");
    (void)own.get(100);
    (void)own.head();
    Sink sink{-1, 100};
    (void)own.get_into(sink);
    ASSERT_THAT(server.requests(), SizeIs(3));
    for (const std::string& text : server.requests())
        EXPECT_THAT(text,
                    AllOf(HasSubstr("\r\nUser-Agent: lagtrap-uploader/" LAGTRAP_VERSION "\r\n"),
                          HasSubstr("\r\nX-One: 1\r\n"), HasSubstr("\r\nX-Two: 2\r\n"),
                          HasSubstr(" /list?x=1 HTTP/1.1\r\n")));
    EXPECT_THAT(server.requests()[0], StartsWith("GET "));
    EXPECT_THAT(server.requests()[1], StartsWith("HEAD "));
    EXPECT_THAT(server.requests()[2], StartsWith("GET "));
}

TEST_F(RequestTest, SendsTheFileAsItsBody) {
    ScriptedServer server({answer_of("200 OK", "a"), answer_of("200 OK", "b")});
    const UniqueFd file = file_with("the content");
    EXPECT_EQ(request(server.url() + "/a").put(file.get(), 11).body, "a");
    EXPECT_EQ(::lseek(file.get(), 4, SEEK_SET), 4);
    EXPECT_EQ(request(server.url() + "/b").post(file.get(), 7).body, "b");
    ASSERT_THAT(server.requests(), SizeIs(2));
    EXPECT_THAT(server.requests()[0],
                AllOf(StartsWith("PUT /a HTTP/1.1\r\n"), HasSubstr("\r\nContent-Length: 11\r\n"),
                      EndsWith("\r\n\r\nthe content")));
    EXPECT_THAT(server.requests()[1],
                AllOf(StartsWith("POST /b HTTP/1.1\r\n"), HasSubstr("\r\nContent-Length: 7\r\n"),
                      EndsWith("\r\n\r\ncontent")));
}

TEST_F(RequestTest, AFileThatCannotBeReadEndsTheTransfer) {
    ScriptedServer server({answer_of("200 OK")});
    const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(request(server.url()).put(folder.get(), 11).result, CURLE_ABORTED_BY_CALLBACK);
}

TEST_F(RequestTest, FollowsNoRedirect) {
    ScriptedServer server(
        {answer_of("302 Found", "", "Location: /elsewhere\r\n"), answer_of("200 OK")});
    EXPECT_EQ(request(server.url()).get(100).status, 302);
    EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(RequestTest, AProxyIsThatOfTheTargetAndNotOfTheEnvironment) {
    ScriptedServer proxy({answer_of("200 OK", "from the proxy")});
    target_.proxy = proxy.url();
    EXPECT_EQ(request("http://server.invalid/a").get(100).body, "from the proxy");
    EXPECT_THAT(proxy.requests().at(0), StartsWith("GET http://server.invalid/a HTTP/1.1\r\n"));
    target_.proxy.clear();
    ::setenv("http_proxy", "http://127.0.0.1:1", 1);
    ::setenv("all_proxy", "http://127.0.0.1:1", 1);
    EXPECT_EQ(got(answer_of("200 OK", "directly")).body, "directly");
    ::unsetenv("http_proxy");
    ::unsetenv("all_proxy");
}

TEST_F(RequestTest, CertificatesAreThoseOfItsFile) {
    ScriptedServer server({answer_of("200 OK")});
    target_.ca_file = "/nonexistent/ca.pem";
    const std::string url = "https" + server.url().substr(4);
    EXPECT_EQ(request(url).get(100).result, CURLE_SSL_CACERT_BADFILE);
}

TEST_F(RequestTest, OnlyTheProtocolOfTheAddressIsUsed) {
    EXPECT_EQ(request("file:///etc/passwd").get(10'000).result, CURLE_UNSUPPORTED_PROTOCOL);
    EXPECT_EQ(request("ftp://127.0.0.1:1/").get(10'000).result, CURLE_UNSUPPORTED_PROTOCOL);
}

// A server that accepts connections and never answers.
struct SilentServer {
    SilentServer() : listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof(address);
        EXPECT_EQ(::bind(listening.get(), general, size), 0);
        EXPECT_EQ(::listen(listening.get(), 4), 0);
        EXPECT_EQ(::getsockname(listening.get(), general, &size), 0);
        url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    UniqueFd listening;
    std::string url;
};

TEST_F(RequestTest, AServerThatNeverAnswersTakesTheTimeoutOfATransfer) {
    const SilentServer server;
    target_.timeout = milliseconds(50);
    const Response response = request(server.url).get(100);
    EXPECT_EQ(response.result, CURLE_OPERATION_TIMEDOUT);
    EXPECT_THAT(response.error, AllOf(StartsWith("Operation timed out"), Not(HasSubstr("slow"))));
    EXPECT_EQ(response.status, 0);
}

TEST_F(RequestTest, AServerThatStallsTakesTheStallTimeout) {
    const SilentServer server;
    target_.stall_timeout = seconds(1);
    target_.slowest_bytes_per_second = 321;
    const Response response = request(server.url).get(100);
    EXPECT_EQ(response.result, CURLE_OPERATION_TIMEDOUT);
    EXPECT_THAT(response.error,
                HasSubstr("Less than 321 bytes/sec transferred the last 1 seconds"));
}

TEST_F(RequestTest, GoesOnWhileItShall) {
    const SilentServer server;
    int left = 2;
    keep_going_ = [&left] { return left-- > 0; };
    const Response response = request(server.url).get(100);
    EXPECT_EQ(response.result, CURLE_ABORTED_BY_CALLBACK);
    EXPECT_LT(left, 0);
}

TEST_F(RequestTest, LimitsAnswersInMemory) {
    EXPECT_EQ(got(answer_of("200 OK", "12345"), 5).body, "12345");
    const Response longer = got(answer_of("200 OK", "123456"), 5);
    EXPECT_EQ(longer.result, CURLE_WRITE_ERROR);
    EXPECT_EQ(longer.error, "the server's answer is longer than 5 bytes");
}

TEST_F(RequestTest, PutsOnlyAnAnswerThatWasFoundIntoTheFile) {
    ScriptedServer server({answer_of("200 OK", "12345"), answer_of("200 OK", "123456"),
                           answer_of("404 Not Found", "why"), answer_of("200 OK", "x")});
    const UniqueFd file = file_with("");
    Request own = request(server.url());
    Sink sink{file.get(), 5};
    EXPECT_EQ(own.get_into(sink).result, CURLE_OK);
    EXPECT_EQ(sink.bytes, 5U);
    EXPECT_EQ(sink.digest.finish_hex(), sha256_of("12345"));
    Sink small{file.get(), 5};
    const Response longer = own.get_into(small);
    EXPECT_EQ(longer.result, CURLE_WRITE_ERROR);
    EXPECT_EQ(longer.error, "the file is longer than 5 bytes");
    Sink unused{file.get(), 5};
    EXPECT_EQ(own.get_into(unused).body, "why");
    EXPECT_EQ(unused.bytes, 0U);
    Sink closed{-1, 5};
    const Response unwritten = own.get_into(closed);
    ASSERT_TRUE(closed.problem);
    EXPECT_EQ(unwritten.error, closed.problem->message);
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_END), 5);
}

}  // namespace
}  // namespace lagtrap::uploader::request_test
