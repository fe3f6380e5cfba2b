#include "server/api/http_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::server::http_server_test {
namespace {

// Its work throws, except for "/well".
class Failing final : public Service {
  public:
    std::variant<Plan, Refusal> admit(const Request& request) override {
        if (request.target == "/admission") throw std::runtime_error("admission");
        Plan plan;
        plan.work = Work::Heavy;
        plan.answer = [](const Request& asked) {
            if (asked.target != "/well") throw std::runtime_error("answer");
            return Reply{200, "text/plain", "well"};
        };
        return plan;
    }
    Counters& counters() override { return counters_; }

  private:
    Counters counters_;
};

class Running {
  public:
    explicit Running(
        HttpOptions options = {}, HttpServer::Report report = [](const HttpReport&) {}) {
        options.listen = "127.0.0.1:0";
        server_ = HttpServer::listen(options, service, std::move(report)).value();
        thread_ = std::thread([this] { all_finished_ = server_->run(); });
    }
    ~Running() { stop(); }

    // Whether all requests finished.
    bool stop() {
        if (!thread_.joinable()) return all_finished_;
        ::kill(::getpid(), SIGTERM);  // handled by the server
        thread_.join();
        return all_finished_;
    }

    // The status of GET `target`; 0 if there is no answer.
    int status_of(const std::string& target) const {
        const std::string answer = answer_to(target, "close");
        return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
    }

    // The beginning of the answer to GET `target`, on a separate connection.
    std::string answer_to(const std::string& target, const std::string& connection_wish) const {
        const UniqueFd connection = connect();
        const std::string request =
            "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: " + connection_wish +
            "\r\n\r\n";
        if (::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
        return received_from(connection);
    }

    UniqueFd connect(std::uint32_t from = INADDR_LOOPBACK) const {
        const std::string address = server_->address();
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        UniqueFd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(from);
        EXPECT_EQ(::bind(connection.get(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)),
                  0);
        EXPECT_EQ(::connect(connection.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
                  0);
        return connection;
    }

    static std::string received_from(const UniqueFd& connection) {
        std::string answer(4096, '\0');
        const auto got = ::recv(connection.get(), answer.data(), answer.size(), 0);
        answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return answer;
    }

    Failing service;

  private:
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
    bool all_finished_ = false;
};

// More often than the pool has slots, so each must be released.
TEST(HttpServer, WorkThatEndsByAnExceptionIsAnsweredAndCounted) {
    Running server;
    for (int i = 0; i < 40; ++i) ASSERT_EQ(server.status_of("/answer"), 500) << i;
    EXPECT_EQ(server.status_of("/admission"), 500);
    EXPECT_EQ(server.status_of("/well"), 200);
    EXPECT_EQ(server.service.counters().requests_failed, 41U);
}

// Clients that keep connections rely on it (MDN, Keep-Alive): they send nothing into a connection
// that is about to close.
TEST(HttpServer, AConnectionThatIsKeptSaysForHowLong) {
    const Running server;
    EXPECT_NE(server.answer_to("/well", "keep-alive").find("Keep-Alive: timeout=9\r\n"),
              std::string::npos);
    EXPECT_EQ(server.answer_to("/well", "close").find("Keep-Alive:"), std::string::npos);
}

// Sends a request and gets its answer, so the server knows the connection.
void use(const UniqueFd& connection) {
    const std::string request = "GET /well HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ASSERT_GT(::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    ASSERT_NE(Running::received_from(connection).find("200 OK"), std::string::npos);
}

constexpr const char* too_many_of_one =
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

TEST(HttpServer, AnAddressHasAFewConnections) {
    HttpOptions options;
    options.connections_of_address = 2;
    Running server(options);
    const UniqueFd first = server.connect(), second = server.connect();
    use(first);
    use(second);
    EXPECT_EQ(Running::received_from(server.connect()), too_many_of_one);
    EXPECT_EQ(server.service.counters().connections, 2U);
    EXPECT_EQ(server.service.counters().connections_refused, 1U);
    EXPECT_EQ(server.service.counters().connections_refused_of_address, 1U);
    use(server.connect(INADDR_LOOPBACK + 5));
    EXPECT_EQ(server.service.counters().connections_refused, 1U);
}

TEST(HttpServer, AProxyHasAllConnections) {
    HttpOptions options;
    options.connections_of_address = 1;
    options.behind_proxy = true;
    for (const char* trusted : {"", "127.0.0.1", "10.0.0.1"}) {
        options.trusted_proxies = {};
        if (*trusted != '\0') options.trusted_proxies = TrustedProxies::parse({trusted}).value();
        Running server(options);
        const UniqueFd first = server.connect(), second = server.connect();
        use(first);
        if (std::string(trusted) == "10.0.0.1")
            EXPECT_EQ(Running::received_from(second), too_many_of_one);
        else
            use(second);
    }
}

TEST(HttpServer, AllTogetherHaveALimit) {
    HttpOptions options;
    options.connections = 1;
    Running server(options);
    const UniqueFd first = server.connect();
    use(first);
    EXPECT_EQ(Running::received_from(server.connect()),
              "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
              "Connection: close\r\n\r\n");
    EXPECT_EQ(server.service.counters().connections_refused, 1U);
    EXPECT_EQ(server.service.counters().connections_refused_of_address, 0U);
}

TEST(HttpServer, SignalsAreToldAndTheLastRequestFinishes) {
    std::atomic<int> hangups{0}, stops{0};
    Running server({}, [&](const HttpReport& report) {
        if (std::holds_alternative<Stopping>(report)) ++stops;
        if (!std::holds_alternative<HungUp>(report)) return;
        ++hangups;
        hangups.notify_all();
    });
    EXPECT_EQ(server.status_of("/well"), 200);
    for (int i = 0; i < 2; ++i) {
        ::kill(::getpid(), SIGHUP);
        hangups.wait(i);
    }
    EXPECT_EQ(hangups, 2);
    EXPECT_EQ(server.status_of("/well"), 200);
    EXPECT_EQ(stops, 0);
    EXPECT_TRUE(server.stop());
    EXPECT_EQ(stops, 1);
    EXPECT_EQ(server.service.counters().connections, 0U);
}

std::string error_of(const std::string& address, const std::string& certificate = {},
                     const std::string& key = {}) {
    Failing service;
    HttpOptions options;
    options.listen = address;
    options.tls_certificate = certificate;
    options.tls_key = key;
    const auto server = HttpServer::listen(options, service, [](const HttpReport&) {});
    return server.ok() ? "no error" : server.error().message;
}

TEST(HttpServer, ListensAtAnAddressAndAPort) {
    EXPECT_EQ(error_of("127.0.0.1:0"), "no error");
    for (const char* wrong : {"", "127.0.0.1", "127.0.0.1:", "localhost:80", "127.0.0.1:65536",
                              "127.0.0.1:x", "127.0.0.1:000080", "::1"})
        EXPECT_EQ(error_of(wrong), "listen address is \"" + std::string(wrong) +
                                       "\"; expected ADDRESS:PORT such as 127.0.0.1:7788 or "
                                       "[::1]:7788");
    EXPECT_EQ(error_of("203.0.113.1:1").substr(0, 26), "listening on 203.0.113.1:1");
    EXPECT_EQ(error_of("127.0.0.1:0", "cert"), "TLS needs both, --tls-certificate and --tls-key");
    EXPECT_EQ(error_of("127.0.0.1:0", "", "key"),
              "TLS needs both, --tls-certificate and --tls-key");
    EXPECT_EQ(error_of("127.0.0.1:0", "/no/certificate", "/no/key").substr(0, 17),
              "/no/certificate: ");
    EXPECT_TRUE(is_loopback("127.3.4.5:80").value());
    EXPECT_TRUE(is_loopback("[::1]:80").value());
    EXPECT_FALSE(is_loopback("0.0.0.0:80").value());
    EXPECT_FALSE(is_loopback("[::]:80").value());
    EXPECT_FALSE(is_loopback("nowhere").ok());
}

}  // namespace
}  // namespace lagtrap::server::http_server_test
