#include "server/alerts/sender.hpp"

#include <array>
#include <thread>

#include <gmock/gmock.h>

#include "core/unique_fd.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::server::sender_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using uploader::ScriptedServer;

// A mail server without TLS that takes any password and any mail from one client.
class MailServer {
  public:
    MailServer() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(listening_.get(), general, size), 0);
        EXPECT_EQ(::listen(listening_.get(), 1), 0);
        EXPECT_EQ(::getsockname(listening_.get(), general, &size), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~MailServer() { (void)said(); }

    [[nodiscard]] std::string url() const { return "smtp://127.0.0.1:" + std::to_string(port_); }
    // All that the client has said, once it has left.
    const std::string& said() {
        ::shutdown(listening_.get(), SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
        return said_;
    }

  private:
    void serve() {
        const UniqueFd client(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client.valid()) return;
        reply(client.get(), "220 mail.example");
        bool in_mail = false;
        std::size_t line = 0;
        std::array<char, 4096> buffer;
        for (ssize_t got = 0; (got = ::read(client.get(), buffer.data(), buffer.size())) > 0;) {
            said_.append(buffer.data(), static_cast<std::size_t>(got));
            for (std::size_t end; (end = said_.find("\r\n", line)) != std::string::npos;
                 line = end + 2)
                answer(client.get(), said_.substr(line, end - line), in_mail);
        }
    }
    static void answer(int client, const std::string& line, bool& in_mail) {
        if (in_mail && line != ".") return;
        if (in_mail) {
            in_mail = false;
            return reply(client, "250 taken");
        }
        if (line.starts_with("EHLO")) return reply(client, "250-mail.example\r\n250 AUTH PLAIN");
        if (line.starts_with("AUTH")) return reply(client, "235 welcome");
        in_mail = line == "DATA";
        reply(client, in_mail ? "354 go ahead" : "250 fine");
    }
    static void reply(int client, std::string text) {
        text += "\r\n";
        (void)::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    }

    UniqueFd listening_;
    std::uint16_t port_ = 0;
    std::string said_;
    std::thread thread_;
};

std::string answer_of(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\n\r\n" + body;
}

Outgoing post_to(const std::string& url) {
    Outgoing outgoing;
    outgoing.url = url + "/secret/path";
    outgoing.headers = {"Content-Type: application/json"};
    outgoing.body = R"({"text":"slow"})";
    return outgoing;
}

Outgoing mail_to(const std::string& url) {
    Outgoing outgoing;
    outgoing.url = url;
    outgoing.body = "Subject: slow\r\n\r\nit was slow\r\n";
    outgoing.mail_from = "lagtrap@example.org";
    outgoing.mail_to = {"ops@example.org", "dev@example.org"};
    return outgoing;
}

const std::atomic<bool> running{false};

TEST(Sender, PostsTheBodyWithItsHeaders) {
    ScriptedServer server({answer_of("204 No Content", "")});
    const auto sent = send_out(post_to(server.url()), Receivers::Any, running);
    EXPECT_TRUE(sent) << sent.error().message;
    ASSERT_THAT(server.requests(), SizeIs(1));
    EXPECT_THAT(server.requests()[0], StartsWith("POST /secret/path HTTP/1.1\r\n"));
    EXPECT_THAT(server.requests()[0], HasSubstr("\r\nContent-Type: application/json\r\n"));
    EXPECT_THAT(server.requests()[0], EndsWith("\r\n\r\n{\"text\":\"slow\"}"));
}

TEST(Sender, TakesOtherAnswersAsErrorsAndDoesNotFollowThem) {
    for (const char* status : {"302 Found", "400 Bad Request", "503 Service Unavailable"}) {
        ScriptedServer server({answer_of(status, "no\nthanks"), answer_of("200 OK", "")});
        const auto sent = send_out(post_to(server.url()), Receivers::Any, running);
        ASSERT_FALSE(sent) << status;
        EXPECT_THAT(sent.error().message,
                    HasSubstr(" answered " + std::string(status, 3) + ": no"));
        EXPECT_THAT(sent.error().message, Not(HasSubstr("secret")));
        EXPECT_THAT(server.requests(), SizeIs(1));
    }
}

TEST(Sender, PostsToThisMachineOnlyIfAllowed) {
    ScriptedServer server({answer_of("200 OK", "")});
    const auto sent = send_out(post_to(server.url()), Receivers::NotLocal, running);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind, ErrorKind::Denied) << sent.error().message;
    EXPECT_THAT(sent.error().message, HasSubstr("--allow-local-receivers"));
    EXPECT_THAT(server.requests(), IsEmpty());
}

TEST(Sender, SendsNothingWhileTheServerStops) {
    ScriptedServer server({answer_of("200 OK", "")});
    const std::atomic<bool> stopping{true};
    const auto sent = send_out(post_to(server.url()), Receivers::Any, stopping);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind, ErrorKind::Vanished) << sent.error().message;
}

TEST(Sender, MailsToAllReceivers) {
    MailServer server;
    const auto sent = send_out(mail_to(server.url()), Receivers::NotLocal, running);
    EXPECT_TRUE(sent) << sent.error().message;
    EXPECT_THAT(server.said(), HasSubstr("MAIL FROM:<lagtrap@example.org>"));
    EXPECT_THAT(server.said(), HasSubstr("RCPT TO:<ops@example.org>"));
    EXPECT_THAT(server.said(), HasSubstr("RCPT TO:<dev@example.org>"));
    EXPECT_THAT(server.said(), HasSubstr("\r\n\r\nit was slow\r\n"));
}

TEST(Sender, NeverSendsAPasswordWithoutTls) {
    MailServer server;
    Outgoing outgoing = mail_to(server.url());
    outgoing.user = "lagtrap";
    outgoing.password = "secret";
    EXPECT_FALSE(send_out(outgoing, Receivers::NotLocal, running));
    EXPECT_THAT(server.said(), Not(HasSubstr("AUTH")));
    EXPECT_THAT(server.said(), Not(HasSubstr("MAIL FROM")));
}

}  // namespace
}  // namespace lagtrap::server::sender_test
