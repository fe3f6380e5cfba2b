#include "server/api/http_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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
    Running() {
        HttpOptions options;
        options.listen = "127.0.0.1:0";
        server_ = HttpServer::listen(options, service, {}).value();
        thread_ = std::thread([this] { server_->run(); });
    }
    ~Running() {
        ::kill(::getpid(), SIGTERM);  // handled by the server
        thread_.join();
    }

    // The status of GET `target`; 0 if there is no answer.
    int status_of(const std::string& target) const {
        const std::string answer = answer_to(target, "close");
        return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
    }

    // The beginning of the answer to GET `target`, on a separate connection.
    std::string answer_to(const std::string& target, const std::string& connection_wish) const {
        const std::string address = server_->address();
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const UniqueFd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
            return {};
        const std::string request =
            "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: " + connection_wish +
            "\r\n\r\n";
        if (::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
        std::string answer(4096, '\0');
        const auto got = ::recv(connection.get(), answer.data(), answer.size(), 0);
        answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return answer;
    }

    Failing service;

  private:
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
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

}  // namespace
}  // namespace lagtrap::server::http_server_test
