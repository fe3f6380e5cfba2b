#include "server/api/http_connection.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::server::http_connection_test {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

json::object described(const Request& request) {
    const auto length = request.content_length;
    return {{"method", static_cast<int>(request.method)},
            {"target", request.target},
            {"host", request.host},
            {"authorization", request.authorization},
            {"cookie", request.cookie},
            {"origin", request.origin},
            {"fetch_site", request.fetch_site},
            {"content_type", request.content_type},
            {"content_encoding", request.content_encoding},
            {"accept_encoding", request.accept_encoding},
            {"if_none_match", request.if_none_match},
            {"content_digest", request.content_digest},
            {"content_length", length ? json::value(*length) : json::value(nullptr)},
            {"chunked", request.chunked},
            {"sender", request.sender},
            {"secure", request.secure},
            {"from_loopback", request.from_loopback},
            {"forwarded", request.forwarded},
            {"body", request.body}};
}

// Gives the texts one after the other, then ends or fails.
class Pieces final : public BodySource {
  public:
    Pieces(std::vector<std::string> pieces, bool fails)
        : pieces_(std::move(pieces)), fails_(fails) {}
    Result<std::size_t> read(char* into, std::size_t) override {
        if (next_ == pieces_.size()) {
            if (fails_) return make_error(ErrorKind::System, "the disk is broken");
            return std::size_t{0};
        }
        const std::string& piece = pieces_[next_++];
        std::copy(piece.begin(), piece.end(), into);
        return piece.size();
    }

  private:
    const std::vector<std::string> pieces_;
    const bool fails_;
    std::size_t next_ = 0;
};

// What uploads received.
struct Received {
    std::mutex mutex;
    std::condition_variable changed;
    std::string bytes;
    int dropped = 0;
};

// Takes at most 100,000 bytes.
class Keep final : public Upload {
  public:
    explicit Keep(Received& received) : received_(received) {}
    ~Keep() override {
        const std::lock_guard lock(received_.mutex);
        if (!finished_) ++received_.dropped;
        received_.changed.notify_all();
    }
    Status write(const void* data, std::size_t size) override {
        const std::lock_guard lock(received_.mutex);
        received_.bytes.append(static_cast<const char*>(data), size);
        received_.changed.notify_all();
        if (received_.bytes.size() > 100'000) return make_error(ErrorKind::TooLarge, "too much");
        return success();
    }
    Refusal refusal_of(const Error& error) override { return {413, error.message}; }
    Reply finish() override {
        finished_ = true;
        return Reply{201, "text/plain", "kept"};
    }

  private:
    Received& received_;
    bool finished_ = false;
};

class Application final : public Service {
  public:
    std::variant<Plan, Refusal> admit(const Request& request) override {
        if (request.target == "/refused") return Refusal{403, "not for you"};
        Plan plan;
        if (request.target.starts_with("/upload")) {
            plan.upload = std::make_shared<Keep>(received);
            return plan;
        }
        if (request.target == "/small") plan.body_limit_bytes = 10;
        if (request.target == "/slow") plan.work = Work::SignIn;
        plan.answer = [this](const Request& asked) { return answer_to(asked); };
        return plan;
    }
    Counters& counters() override { return counters_; }
    void let_go() {
        const std::lock_guard lock(mutex_);
        free_ = true;
        changed_.notify_all();
    }

    Received received;

  private:
    Reply answer_to(const Request& asked) {
        if (asked.target == "/slow") {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return free_; });
        }
        Reply reply{200, "text/plain", json::serialize(described(asked))};
        if (asked.target == "/204" || asked.target == "/304")
            reply =
                Reply{static_cast<unsigned>(std::stoi(asked.target.substr(1))), "text/plain", ""};
        if (asked.target == "/headers")
            reply.headers = {{"Set-Cookie", "a=1"},
                             {"Set-Cookie", "b=2"},
                             {"Cache-Control", "max-age=5"},
                             {"Referrer-Policy", "origin"}};
        if (asked.target.starts_with("/pieces") || asked.target == "/broken")
            reply.source = std::make_shared<Pieces>(std::vector<std::string>{"first,", "second"},
                                                    asked.target == "/broken");
        if (asked.target == "/pieces/announced") reply.announced_bytes = 12;
        return reply;
    }

    Counters counters_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool free_ = false;
};

class Client {
  public:
    explicit Client(const std::string& address)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    }
    void send(const std::string& text) const {
        std::size_t sent = 0;
        while (sent < text.size()) {
            const ssize_t done =
                ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (done <= 0) return;
            sent += static_cast<std::size_t>(done);
        }
    }
    // Everything until the server closes the connection.
    [[nodiscard]] std::string rest() const {
        std::string text;
        while (read_some(text)) {
        }
        return text;
    }
    // Until this text came, or the end.
    [[nodiscard]] std::string until(const std::string& end) const {
        std::string text;
        while (text.find(end) == std::string::npos && read_some(text)) {
        }
        return text;
    }
    void close() { socket_.reset(); }
    // Nothing more will come, but the answer is waited for.
    void end() const { ::shutdown(socket_.get(), SHUT_WR); }

  private:
    bool read_some(std::string& text) const {
        char buffer[4096];
        const ssize_t got = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
        if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
        return got > 0;
    }
    UniqueFd socket_;
};

class HttpConnections : public testing::Test {
  protected:
    ~HttpConnections() override { stop(); }
    void start(HttpOptions options = {}) {
        options.listen = "127.0.0.1:0";
        auto server = HttpServer::listen(options, application_, [](const HttpReport&) {});
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_ = std::move(server).value();
        thread_ = std::thread([this] { server_->run(); });
    }
    void stop() {
        if (!thread_.joinable()) return;
        application_.let_go();
        ::kill(::getpid(), SIGTERM);  // handled by the server
        thread_.join();
    }
    [[nodiscard]] Client client() const { return Client(server_->address()); }
    // The whole answer to a request that ends its connection.
    [[nodiscard]] std::string answer(const std::string& line, const std::string& more = "",
                                     const std::string& body = "") const {
        const Client one = client();
        one.send(line + " HTTP/1.1\r\nHost: l.example\r\nConnection: close\r\n" + more + "\r\n" +
                 body);
        return one.rest();
    }
    static std::string body_of(const std::string& answer) {
        const std::size_t end = answer.find("\r\n\r\n");
        return end == std::string::npos ? "" : answer.substr(end + 4);
    }
    static std::string error_of(const std::string& answer) {
        json::error_code failed;
        const json::value body = json::parse(body_of(answer), failed);
        if (failed || !body.is_object()) return "no error";
        return answer.substr(9, 3) + " " +
               json::value_to<std::string>(body.at("error").at("message"));
    }
    [[nodiscard]] json::object request_seen(const std::string& line, const std::string& more = "",
                                            const std::string& body = "") const {
        json::error_code failed;
        json::value seen = json::parse(body_of(answer(line, more, body)), failed);
        EXPECT_FALSE(failed);
        return seen.is_object() ? seen.as_object() : json::object{};
    }

    Application application_;

  private:
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
};

TEST_F(HttpConnections, RequestsAreDescribedByTheirHeaders) {
    start();
    EXPECT_EQ(request_seen("GET /a?b=%20",
                           "Authorization: Bearer t\r\nCookie: c=1\r\nOrigin: https://o\r\n"
                           "Sec-Fetch-Site: same-origin\r\nContent-Type: x/y\r\n"
                           "Content-Encoding: zstd\r\nAccept-Encoding: br\r\n"
                           "If-None-Match: \"e\"\r\nContent-Digest: sha-256=:x:\r\n"),
              json::parse(R"({"method":0,"target":"/a?b=%20","host":"l.example",)"
                          R"("authorization":"Bearer t","cookie":"c=1","origin":"https://o",)"
                          R"("fetch_site":"same-origin","content_type":"x/y",)"
                          R"("content_encoding":"zstd","accept_encoding":"br",)"
                          R"("if_none_match":"\"e\"","content_digest":"sha-256=:x:",)"
                          R"("content_length":null,"chunked":false,"sender":"127.0.0.1",)"
                          R"("secure":false,"from_loopback":true,"forwarded":false,"body":""})")
                  .as_object());
    const std::vector<std::pair<const char*, Method>> methods{
        {"GET", Method::Get},       {"POST", Method::Post},   {"PUT", Method::Put},
        {"DELETE", Method::Delete}, {"PATCH", Method::Other}, {"OPTIONS", Method::Other}};
    for (const auto& [name, method] : methods)
        EXPECT_EQ(request_seen(std::string(name) + " /", "Content-Length: 0\r\n").at("method"),
                  json::value(static_cast<int>(method)))
            << name;
    EXPECT_EQ(application_.counters().requests, 7U);
    EXPECT_EQ(application_.counters().refused_requests, 0U);
}

TEST_F(HttpConnections, HeadersOfProxiesSayOnlyThatThereIsOne) {
    start();
    for (const char* header : {"X-Forwarded-For: 9.9.9.9", "Via: 1.1 p", "Forwarded: for=1.2.3.4",
                               "X-Real-IP: 9.9.9.9", "X-Forwarded-Proto: https"}) {
        const json::object seen = request_seen("GET /", std::string(header) + "\r\n");
        EXPECT_EQ(seen.at("forwarded"), json::value(true)) << header;
        EXPECT_EQ(seen.at("sender"), json::value("127.0.0.1"));
        EXPECT_EQ(seen.at("secure"), json::value(false));
        EXPECT_EQ(seen.at("from_loopback"), json::value(true));
    }
}

TEST_F(HttpConnections, BehindAProxyItsClientIsTheSender) {
    HttpOptions options;
    options.behind_proxy = true;
    start(options);
    json::object seen = request_seen("GET /");
    EXPECT_EQ(seen.at("forwarded"), json::value(true));
    EXPECT_EQ(seen.at("sender"), json::value("127.0.0.1"));
    EXPECT_EQ(seen.at("from_loopback"), json::value(true));
    seen = request_seen("GET /", "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n");
    EXPECT_EQ(seen.at("sender"), json::value("9.9.9.9"));
    EXPECT_EQ(seen.at("from_loopback"), json::value(false));
    EXPECT_EQ(seen.at("secure"), json::value(true));
    seen = request_seen("GET /", "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: http\r\n");
    EXPECT_EQ(seen.at("secure"), json::value(false));
    seen = request_seen("GET /", "X-Forwarded-Proto: https\r\n");
    EXPECT_EQ(seen.at("secure"), json::value(false)) << "nobody is named";
}

TEST_F(HttpConnections, OnlyTrustedProxiesAreBelieved) {
    HttpOptions options;
    options.behind_proxy = true;
    options.trusted_proxies = TrustedProxies::parse({"10.0.0.0/8"}).value();
    start(options);
    const json::object seen =
        request_seen("GET /", "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n");
    EXPECT_EQ(seen.at("sender"), json::value("127.0.0.1"));
    EXPECT_EQ(seen.at("secure"), json::value(false));
    EXPECT_EQ(seen.at("forwarded"), json::value(true));
}

TEST_F(HttpConnections, RepliesHaveHeadersThatProtectPages) {
    start();
    const std::string plain = answer("GET /");
    for (const char* header :
         {"\r\nServer: lagtrap-server/", "\r\nContent-Type: text/plain\r\n",
          "\r\nX-Content-Type-Options: nosniff\r\n", "\r\nReferrer-Policy: no-referrer\r\n",
          "\r\nCache-Control: no-store\r\n", "\r\nConnection: close\r\n"})
        EXPECT_THAT(plain, HasSubstr(header));
    EXPECT_THAT(plain, Not(HasSubstr("Strict-Transport-Security"))) << "not over TLS";
    const std::string own = answer("GET /headers");
    for (const char* header :
         {"\r\nSet-Cookie: a=1\r\n", "\r\nSet-Cookie: b=2\r\n", "\r\nCache-Control: max-age=5\r\n",
          "\r\nReferrer-Policy: origin\r\n"})
        EXPECT_THAT(own, HasSubstr(header));
    EXPECT_THAT(own, Not(HasSubstr("no-store")));
}

TEST_F(HttpConnections, AnswersWithoutABodyHaveNone) {
    start();
    const std::string head = answer("HEAD /");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(head, EndsWith("\r\n\r\n"));
    const std::string whole = answer("GET /");
    const auto length_of = [](const std::string& text) {
        const std::size_t at = text.find("Content-Length: ");
        return at == std::string::npos ? -1 : std::stoi(text.substr(at + 16));
    };
    EXPECT_EQ(length_of(head), length_of(whole)) << "but for one letter of the method";
    EXPECT_THAT(answer("HEAD /pieces"), Not(HasSubstr("Content-Length")));
    EXPECT_EQ(length_of(answer("HEAD /pieces/announced")), 12);
    for (const char* target : {"/204", "/304"}) {
        const std::string empty = answer(std::string("GET ") + target);
        EXPECT_THAT(empty, EndsWith("\r\n\r\n"));
        EXPECT_THAT(empty, Not(HasSubstr("\r\nContent-Type")));
        EXPECT_THAT(empty, Not(HasSubstr("Content-Length")));
    }
}

TEST_F(HttpConnections, AreKeptForFurtherRequests) {
    start();
    const Client one = client();
    one.send("GET /1 HTTP/1.1\r\nHost: l\r\n\r\n");
    EXPECT_THAT(one.until("\"body\":\"\"}"), HasSubstr("\r\nKeep-Alive: timeout=9\r\n"));
    one.send(
        "POST /small HTTP/1.1\r\nHost: l\r\nContent-Length: 4\r\n\r\nbodyGET /3 HTTP/1.1\r\n"
        "Host: l\r\nConnection: close\r\n\r\n");
    const std::string rest = one.rest();
    EXPECT_THAT(rest, HasSubstr("\"body\":\"body\""));
    EXPECT_THAT(rest, HasSubstr("\"target\":\"/3\""));
    const Client old = client();
    old.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_THAT(old.rest(), HasSubstr("\"target\":\"/\""));
}

TEST_F(HttpConnections, WhatIsNoRequestIsRefused) {
    start();
    const Client broken = client();
    broken.send("what?\r\n\r\n");
    const std::string said = broken.rest();
    EXPECT_THAT(error_of(said), StartsWith("400 not an HTTP request that this server takes: "));
    EXPECT_THAT(said, HasSubstr("\r\nConnection: close\r\n"));
    const Client large = client();
    large.send("GET / HTTP/1.1\r\nX-Filler: " + std::string(17'000, 'x') + "\r\n\r\n");
    EXPECT_THAT(large.rest(), StartsWith("HTTP/1.1 431 "));
    EXPECT_THAT(answer("GET /", "X-Filler: " + std::string(15'000, 'x') + "\r\n"),
                StartsWith("HTTP/1.1 200 "));
    const Client cut = client();
    cut.send("GET / HT");
    EXPECT_EQ(application_.counters().requests, 1U);
    EXPECT_EQ(application_.counters().refused_requests, 2U);
}

TEST_F(HttpConnections, BodiesAreTakenUpToTheirLimit) {
    start();
    EXPECT_EQ(request_seen("POST /small", "Content-Length: 10\r\n", "0123456789").at("body"),
              json::value("0123456789"));
    EXPECT_EQ(error_of(answer("POST /small", "Content-Length: 11\r\n", "0123456789a")),
              "413 the body has 11 bytes; at most 10 are taken");
    EXPECT_EQ(error_of(answer("POST /small", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n")),
              "411 a body needs a Content-Length");
    EXPECT_EQ(error_of(answer("POST /", "Content-Length: 1\r\n", "x")),
              "400 this request takes no body");
    EXPECT_EQ(error_of(answer("POST /refused", "Content-Length: 1\r\n", "x")), "403 not for you");
    EXPECT_EQ(request_seen("POST /", "Content-Length: 0\r\n").at("body"), json::value(""));
    EXPECT_EQ(application_.counters().refused_requests, 4U);
}

TEST_F(HttpConnections, AreKeptAfterARefusedBody) {
    start();
    const Client one = client();
    one.send("POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 50000\r\n\r\n" +
             std::string(50'000, 'x') +
             "GET /next HTTP/1.1\r\nHost: l\r\nConnection: close\r\n\r\n");
    const std::string said = one.rest();
    EXPECT_THAT(said, StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(said, HasSubstr("\"target\":\"/next\""));
    const Client chunked = client();
    chunked.send("POST /small HTTP/1.1\r\nHost: l\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_THAT(chunked.rest(), HasSubstr("\r\nConnection: close\r\n"));
    const Client waits = client();
    waits.send("POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    const std::string refused = waits.rest();
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 400 ")) << "it may send the body or not";
    EXPECT_THAT(refused, HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(HttpConnections, ThatWaitForAnInvitationGetOne) {
    start();
    const Client small = client();
    small.send(
        "POST /small HTTP/1.1\r\nHost: l\r\nContent-Length: 4\r\nExpect: 100-Continue\r\n"
        "Connection: close\r\n\r\n");
    EXPECT_EQ(small.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    small.send("body");
    EXPECT_THAT(small.rest(), HasSubstr("\"body\":\"body\""));
    const Client upload = client();
    upload.send(
        "PUT /upload HTTP/1.1\r\nHost: l\r\nContent-Length: 4\r\nExpect: 100-continue\r\n"
        "Connection: close\r\n\r\n");
    EXPECT_EQ(upload.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    upload.send("data");
    EXPECT_THAT(upload.rest(), StartsWith("HTTP/1.1 201 "));
    EXPECT_EQ(application_.received.bytes, "data");
}

TEST_F(HttpConnections, BodiesThatDoNotComeAreNotWaitedForForever) {
    HttpOptions options;
    options.body_timeout = milliseconds(50);
    start(options);
    const Client one = client();
    one.send("POST /small HTTP/1.1\r\nHost: l\r\nContent-Length: 4\r\n\r\nbo");
    EXPECT_EQ(one.rest(), "");
    // Counted after the connection has ended.
    while (application_.counters().refused_requests == 0) std::this_thread::yield();
}

TEST_F(HttpConnections, BodiesThatAreCutShortAreRefused) {
    start();
    const Client one = client();
    one.send("POST /small HTTP/1.1\r\nHost: l\r\nContent-Length: 4\r\n\r\nbo");
    one.end();
    const std::string said = one.rest();
    EXPECT_EQ(error_of(said), "408 the body did not come");
    EXPECT_THAT(said, HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(HttpConnections, ThatSendNothingAreClosed) {
    HttpOptions options;
    options.header_timeout = milliseconds(50);
    start(options);
    EXPECT_EQ(client().rest(), "");
}

TEST_F(HttpConnections, UploadsArriveWhole) {
    start();
    const std::string content(90'000, 'u');
    const std::string said = answer("PUT /upload", "Content-Length: 90000\r\n", content);
    EXPECT_THAT(said, StartsWith("HTTP/1.1 201 "));
    EXPECT_THAT(said, EndsWith("kept"));
    EXPECT_EQ(application_.received.bytes, content);
    EXPECT_EQ(application_.received.dropped, 0);
    EXPECT_EQ(application_.counters().upload_bytes, 90'000U);
    EXPECT_EQ(application_.counters().uploads_refused, 0U);
}

TEST_F(HttpConnections, RefusedUploadsAreReadToTheirEnd) {
    start();
    const Client one = client();
    one.send("PUT /upload HTTP/1.1\r\nHost: l\r\nContent-Length: 300000\r\n\r\n" +
             std::string(300'000, 'u') +
             "GET /next HTTP/1.1\r\nHost: l\r\nConnection: close\r\n\r\n");
    const std::string said = one.rest();
    EXPECT_THAT(said, StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(said, HasSubstr("\"target\":\"/next\"")) << "the sender sees the reply";
    EXPECT_EQ(application_.received.dropped, 1);
    EXPECT_EQ(application_.counters().uploads_refused, 1U);
    EXPECT_EQ(application_.counters().uploads_aborted, 0U);
}

TEST_F(HttpConnections, UploadsThatEndEarlyAreDropped) {
    start();
    Client one = client();
    one.send("PUT /upload HTTP/1.1\r\nHost: l\r\nContent-Length: 1000\r\n\r\nhalf");
    std::unique_lock lock(application_.received.mutex);
    application_.received.changed.wait(lock, [&] { return !application_.received.bytes.empty(); });
    one.close();
    application_.received.changed.wait(lock, [&] { return application_.received.dropped == 1; });
    EXPECT_EQ(application_.counters().uploads_aborted, 1U);
    EXPECT_EQ(application_.counters().uploads_refused, 0U);
    EXPECT_EQ(application_.counters().upload_bytes, 4U);
}

TEST_F(HttpConnections, StreamedBodiesComeInChunks) {
    start();
    const std::string chunked = answer("GET /pieces");
    EXPECT_THAT(chunked, HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
    EXPECT_EQ(body_of(chunked), "6\r\nfirst,\r\n6\r\nsecond\r\n0\r\n\r\n");
    const std::string announced = answer("GET /pieces/announced");
    EXPECT_THAT(announced, HasSubstr("\r\nContent-Length: 12\r\n"));
    EXPECT_EQ(body_of(announced), "first,second");
    const Client old = client();
    old.send("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(body_of(old.rest()), "first,second") << "the end of the connection ends it";
    const std::string broken = answer("GET /broken");
    EXPECT_THAT(broken, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(broken, Not(HasSubstr("\r\n0\r\n\r\n"))) << "so that the client knows";
    const Client kept = client();
    kept.send(
        "GET /pieces HTTP/1.1\r\nHost: l\r\n\r\nGET /next HTTP/1.1\r\nHost: l\r\n"
        "Connection: close\r\n\r\n");
    EXPECT_THAT(kept.rest(), HasSubstr("\"target\":\"/next\""));
}

TEST_F(HttpConnections, BeyondWhatThreadsCanDoAreRefused) {
    start();
    std::vector<std::unique_ptr<Client>> slow;
    const auto refused = [&] { return application_.counters().refused_requests.load(); };
    // Each holds one of the places for work that takes long; sixteen may have one.
    for (int i = 0; i < 17; ++i) {
        slow.push_back(std::make_unique<Client>(client()));
        slow.back()->send("GET /slow HTTP/1.1\r\nHost: l\r\nConnection: close\r\n\r\n");
    }
    while (refused() == 0) std::this_thread::yield();
    application_.let_go();
    int served = 0, busy = 0;
    for (const auto& one : slow) {
        const std::string said = one->rest();
        if (said.starts_with("HTTP/1.1 200 ")) ++served;
        if (!said.starts_with("HTTP/1.1 429 ")) continue;
        ++busy;
        EXPECT_EQ(error_of(said), "429 the server has too much to do");
        EXPECT_THAT(said, HasSubstr("\r\nRetry-After: 2\r\n"));
    }
    EXPECT_EQ(served, 16);
    EXPECT_EQ(busy, 1);
}

TEST(WorkerPools, AreChosenByTheKindOfWork) {
    WorkerPools workers;
    EXPECT_EQ(&workers.of(Work::Light), &workers.light);
    EXPECT_EQ(&workers.of(Work::Heavy), &workers.heavy);
    EXPECT_EQ(&workers.of(Work::SignIn), &workers.sign_in);
    EXPECT_EQ(&workers.of(Work::Health), &workers.health);
}

}  // namespace
}  // namespace lagtrap::server::http_connection_test
