#include "daemon/control/client_link.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

namespace lagtrap::daemon::client_link_test {
namespace {

class ClientLinkTest : public testing::Test, private ClientLink::Owner {
  protected:
    ClientLinkTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        client_ = UniqueFd(ends[0]);
        UniqueFd its_client(ends[1]);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        service_ = UniqueFd(ends[0]);
        UniqueFd its_service(ends[1]);
        ClientLink::Owner& owner = *this;
        link_ = std::make_unique<ClientLink>(context_, std::move(its_client),
                                             std::move(its_service), owner);
    }

    void say(const std::string& text) const {
        EXPECT_EQ(::send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    // What has come; `file` becomes the descriptor that came with it.
    std::string read(int* file = nullptr) {
        context_.poll();
        char buffer[4096];
        iovec part{buffer, sizeof buffer};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))]{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        const ssize_t size = ::recvmsg(client_.get(), &message, MSG_DONTWAIT);
        if (const cmsghdr* const one = CMSG_FIRSTHDR(&message);
            size > 0 && one != nullptr && file != nullptr)
            std::memcpy(file, CMSG_DATA(one), sizeof *file);
        return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
    }

    ClientLink::Answer answer_client(const boost::json::object& request) override {
        ClientLink::Answer given{{{"ok", true}, {"fields", request.size()}}};
        if (request.contains("file"))
            given.file = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return given;
    }
    std::uint64_t used_ppm() override { return 4711; }
    void client_gone() override { ended_ = true; }

    boost::asio::io_context context_;
    UniqueFd client_, service_;
    bool ended_ = false;
    std::unique_ptr<ClientLink> link_;
};

TEST_F(ClientLinkTest, RequestsAreAnsweredInTurn) {
    say("{\"command\":\"status\"}\n{\"command\":\"status\",\"more\":1}\n");
    EXPECT_EQ(read(), "{\"ok\":true,\"fields\":1}\n{\"ok\":true,\"fields\":2}\n");
    say("nonsense\n");
    EXPECT_NE(read().find("\"ok\":false"), std::string::npos);
    say("{\"command\":\"status\"}\n");
    EXPECT_EQ(read(), "{\"ok\":true,\"fields\":1}\n") << "it goes on";
    EXPECT_FALSE(ended_);
}

TEST_F(ClientLinkTest, AFileComesWithItsAnswer) {
    say("{\"file\":1}\n");
    int file = -1;
    EXPECT_EQ(read(&file), "{\"ok\":true,\"fields\":1}\n");
    const UniqueFd received(file);
    EXPECT_GE(::fcntl(received.get(), F_GETFD), 0);
}

TEST_F(ClientLinkTest, TheServiceLearnsTheCost) {
    std::uint64_t used_ppm = 0;
    EXPECT_EQ(::recv(service_.get(), &used_ppm, sizeof used_ppm, MSG_DONTWAIT),
              static_cast<ssize_t>(sizeof used_ppm));
    EXPECT_EQ(used_ppm, 4711U);
}

TEST_F(ClientLinkTest, ItEndsWithTheClient) {
    context_.poll();
    EXPECT_FALSE(ended_);
    client_.reset();
    context_.poll();
    EXPECT_TRUE(ended_);
}

TEST_F(ClientLinkTest, ItEndsWithTheService) {
    service_.reset();
    context_.poll();
    EXPECT_TRUE(ended_);
}

TEST_F(ClientLinkTest, AnEndlessRequestEndsIt) {
    say(std::string(100 * 1024, 'a'));
    context_.poll();
    EXPECT_TRUE(ended_);
}

}  // namespace
}  // namespace lagtrap::daemon::client_link_test
