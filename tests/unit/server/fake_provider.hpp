// An OpenID Connect provider on this machine that gives prepared answers and keeps what it was
// asked.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::server::test {

class FakeProvider {
  public:
    FakeProvider() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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
    FakeProvider(const FakeProvider&) = delete;
    FakeProvider& operator=(const FakeProvider&) = delete;
    ~FakeProvider() {
        ::shutdown(listening_, SHUT_RDWR);
        thread_.join();
        ::close(listening_);
    }

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    // From now on, requests for `path` get this answer. Others get 404 without a body.
    void answer(const std::string& path, const std::string& status, const std::string& body) {
        const std::lock_guard lock(mutex_);
        answers_[path] = "HTTP/1.1 " + status +
                         "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                         "\r\n\r\n" + body;
    }
    // Heads and bodies of all requests so far.
    [[nodiscard]] std::vector<std::string> requests() {
        const std::lock_guard lock(mutex_);
        return requests_;
    }
    // Only those for this path.
    [[nodiscard]] std::vector<std::string> requests_for(const std::string& path) {
        std::vector<std::string> found;
        for (const std::string& request : requests())
            if (path_of(request) == path) found.push_back(request);
        return found;
    }

  private:
    static std::string path_of(const std::string& request) {
        const std::size_t begin = std::min(request.find(' '), request.size() - 1) + 1;
        return request.substr(begin, request.find(' ', begin) - begin);
    }
    void serve() {
        for (;;) {
            const int connection = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
            if (connection < 0) return;
            send(connection, answer_to(read_request(connection)));
            ::shutdown(connection, SHUT_WR);
            char rest = 0;
            while (::read(connection, &rest, 1) > 0) {
            }
            ::close(connection);
        }
    }
    std::string answer_to(const std::string& request) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        const auto found = answers_.find(path_of(request));
        return found != answers_.end() ? found->second
                                       : "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                                         "Connection: close\r\n\r\n";
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
        char buffer[4096];
        for (;;) {
            const std::size_t end = text.find("\r\n\r\n");
            const std::size_t length = text.find("Content-Length: ");
            if (end != std::string::npos &&
                text.size() >= end + 4 + (length < end ? std::stoul(text.substr(length + 16)) : 0))
                return text;
            const ssize_t got = ::read(connection, buffer, sizeof(buffer));
            if (got <= 0) return text + " ";
            text.append(buffer, static_cast<std::size_t>(got));
        }
    }

    std::mutex mutex_;  // guards the two members below
    std::map<std::string, std::string> answers_;
    std::vector<std::string> requests_;
    int listening_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace lagtrap::server::test
