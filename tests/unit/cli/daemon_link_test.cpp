#include "cli/control/daemon_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "cli/control/control_client.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::daemon_link_test {
namespace {

// A daemon that ends when a request has come: with an answer, or without having read the request.
class DaemonLinkTest : public testing::Test {
  protected:
    void SetUp() override {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
        listening_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                  0);
        ASSERT_EQ(::listen(listening_.get(), 1), 0);
    }
    void serve(const std::string& answer) {
        daemon_ = std::thread([this, answer] {
            const UniqueFd peer(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            pollfd request{peer.get(), POLLIN, 0};
            (void)::poll(&request, 1, -1);
            (void)::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        });
    }
    Result<DaemonLink::Answer> ask() {
        auto link = DaemonLink::open(path_);
        EXPECT_TRUE(link);
        auto answer = link->ask({{"command", "status"}}, std::chrono::seconds(60), stop_);
        daemon_.join();
        return answer;
    }

    test::TemporaryFolder folder_;
    std::string path_ = folder_.string("socket");
    UniqueFd listening_;
    std::thread daemon_;
    volatile std::sig_atomic_t stop_ = 0;
};

TEST_F(DaemonLinkTest, AnAnswerIsReadEvenIfTheDaemonHasEnded) {
    serve("{\"ok\":true,\"runs\":3}\n");
    const auto answer = ask();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->object.at("runs").as_int64(), 3);
}

TEST_F(DaemonLinkTest, ADaemonThatEndsWithoutReadingTheRequestHasExited) {
    serve("");
    const auto answer = ask();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::Vanished);
    EXPECT_EQ(answer.error().message, "lagtrapd has exited");
}

TEST_F(DaemonLinkTest, LinesEndWithTheDaemonToo) {
    serve("");
    auto lines = DaemonLines::ask(path_, {{"command", "calls"}});
    ASSERT_TRUE(lines);
    const auto line = lines->next(1024, stop_);
    daemon_.join();
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_FALSE(line->has_value());
}

}  // namespace
}  // namespace lagtrap::cli::daemon_link_test
