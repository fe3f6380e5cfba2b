#include "daemon/processes/inspector_service.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "binaries/reader/reader_wire.hpp"
#include "core/result.hpp"
#include "daemon/processes/inspector_wire.hpp"

namespace lagtrap::daemon::inspector_service_test {
namespace {

struct Message {
    InspectionHead head;
    std::string body;
};

bool receive(int socket, char* into, std::size_t size) {
    UniqueFd file;
    for (std::size_t got = 0; got < size;) {
        const long bytes = receive_inspection(socket, into + got, size - got, file, 0);
        if (bytes <= 0) return false;
        got += static_cast<std::size_t>(bytes);
    }
    return true;
}

// Serves requests about this process in a thread.
class InspectorService : public testing::Test {
  protected:
    InspectorService() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        socket_ = UniqueFd(ends[0]);
        serving_ = std::thread([theirs = ends[1]] {
            serve_inspections(theirs);
            ::close(theirs);
        });
    }
    ~InspectorService() override {
        socket_ = UniqueFd();
        serving_.join();
    }

    // The answer to a request to open this program, after its progress messages.
    std::optional<InspectionHead> open_program(const std::vector<std::uint32_t>& avoided_users,
                                               const std::vector<std::uint64_t>& avoided_devices) {
        binaries::WireWriter request;
        request.number(static_cast<std::uint32_t>(::getpid()));
        request.items(avoided_users);
        request.items(avoided_devices);
        const std::string body = request.take();
        if (!send_inspection(socket_.get(), {InspectionMessage::OpenProgram, 0, body.size()}, body))
            return std::nullopt;
        for (;;) {
            Message message;
            if (!receive(socket_.get(), reinterpret_cast<char*>(&message.head),
                         sizeof message.head))
                return std::nullopt;
            message.body.resize(message.head.body_bytes);
            if (!receive(socket_.get(), message.body.data(), message.body.size()))
                return std::nullopt;
            if (message.head.kind == InspectionMessage::Device)
                device_ = binaries::WireReader(message.body).number<std::uint64_t>();
            if (message.head.kind == InspectionMessage::Answer) return message.head;
        }
    }
    static constexpr std::uint32_t busy = 1 + static_cast<std::uint32_t>(ErrorKind::Busy);
    std::uint64_t device_ = 0;  // on which a file was opened last

  private:
    UniqueFd socket_;
    std::thread serving_;
};

TEST_F(InspectorService, LeavesProcessesOfAvoidedUsersAlone) {
    const auto avoided = open_program({4711, ::getuid()}, {});
    ASSERT_TRUE(avoided);
    EXPECT_EQ(avoided->error, busy);
    const auto others = open_program({4711}, {});
    ASSERT_TRUE(others);
    EXPECT_EQ(others->error, 0U);
}

TEST_F(InspectorService, OpensNothingOnAvoidedDevices) {
    const auto opened = open_program({}, {});
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->error, 0U);
    ASSERT_NE(device_, 0U) << "it does not say on which device it opens the file";
    const auto avoided = open_program({}, {device_});
    ASSERT_TRUE(avoided);
    EXPECT_EQ(avoided->error, busy);
    const auto others = open_program({}, {device_ + 1});
    ASSERT_TRUE(others);
    EXPECT_EQ(others->error, 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::inspector_service_test
