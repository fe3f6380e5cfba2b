// A server on this machine that gives prepared answers and keeps what it was asked.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::uploader {

// Gives each connection the next answer. Answers must close the connection.
class ScriptedServer {
  public:
    explicit ScriptedServer(std::vector<std::string> answers)
        : answers_(std::move(answers)),
          listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof(address);
        EXPECT_EQ(::bind(listening_, general, size), 0);
        EXPECT_EQ(::listen(listening_, 16), 0);
        EXPECT_EQ(::getsockname(listening_, general, &size), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;
    ~ScriptedServer() {
        stop();
        ::close(listening_);
    }

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    // Heads and bodies of all requests so far. No request is answered afterwards.
    [[nodiscard]] const std::vector<std::string>& requests() {
        stop();
        return requests_;
    }

  private:
    void stop() {
        ::shutdown(listening_, SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
    }
    void serve() {
        for (const std::string& answer : answers_) {
            const int connection = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
            if (connection < 0) return;
            requests_.push_back(read_request(connection));
            send(connection, answer);
            ::shutdown(connection, SHUT_WR);
            char rest = 0;
            while (::read(connection, &rest, 1) > 0) {
            }
            ::close(connection);
        }
    }
    static void send(int connection, const std::string& text) {
        std::size_t sent = 0;
        while (sent < text.size()) {
            const ssize_t done =
                ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (done <= 0) return;
            sent += static_cast<std::size_t>(done);
        }
    }
    static std::string read_request(int connection) {
        std::string text;
        std::size_t wanted = std::string::npos;
        char buffer[65536];
        while (text.size() < wanted) {
            const ssize_t got = ::read(connection, buffer, sizeof(buffer));
            if (got <= 0) return text;
            text.append(buffer, static_cast<std::size_t>(got));
            const std::size_t end = text.find("\r\n\r\n");
            if (wanted != std::string::npos || end == std::string::npos) continue;
            const std::size_t length = text.find("Content-Length: ");
            wanted = end + 4 + (length < end ? std::stoul(text.substr(length + 16)) : 0);
            if (text.find("100-continue") < end) send(connection, "HTTP/1.1 100 Continue\r\n\r\n");
        }
        return text;
    }

    std::vector<std::string> answers_;
    std::vector<std::string> requests_;
    int listening_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace lagtrap::uploader
