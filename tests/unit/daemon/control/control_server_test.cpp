#include "daemon/control/control_server.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon::control_server_test {
namespace {

settings::Control at(const std::string& path, const std::string& group = "") {
    settings::Control control;
    control.socket = path;
    control.group = group;
    return control;
}

// Answers with the number of fields. Refuses "refuse", and takes over the connection of "watch".
class Requests : public ControlRequests {
  public:
    boost::json::object answer(const boost::json::object& request) override {
        ++handled;
        return {{"ok", true}, {"fields", request.size()}};
    }
    Result<bool> stream(const boost::json::object& /*request*/, const Caller* /*only_of*/,
                        std::shared_ptr<AnswerStream> /*answer*/) override {
        return false;
    }
    Result<bool> hand_over(const boost::json::object& request, const Caller& caller,
                           int socket) override {
        const auto* const command = request.if_contains("command");
        if (command == nullptr) return false;
        if (*command == "refuse") return make_error(ErrorKind::Busy, "no room");
        if (*command != "watch") return false;
        EXPECT_EQ(caller.uid, ::geteuid());
        passed = UniqueFd(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
        return true;
    }

    std::atomic<int> handled{0};
    UniqueFd passed;
};

class ControlServerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        path_ =
            std::string(::testing::TempDir()) + "/control-" + std::to_string(::getpid()) + ".sock";
        std::filesystem::remove(path_);
        start();
    }
    void TearDown() override {
        context_.stop();
        thread_.join();
        server_.reset();
        std::filesystem::remove(path_);
    }
    void start() {
        auto listening = ControlServer::listen(context_, at(path_), requests_, [this] {
            return KeptAnswer::TimePoint(std::chrono::milliseconds(clock_ms_));
        });
        ASSERT_TRUE(listening) << listening.error().message;
        server_ = std::move(listening).value();
        thread_ = std::thread([this] { context_.run(); });
    }

    // Not valid if there is no connection.
    UniqueFd connect() const {
        UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
            0)
            socket.reset();
        return socket;
    }

    // Sends `text` and reads until the server closes the connection.
    std::string ask(const std::string& text) {
        const UniqueFd socket = connect();
        if (!socket.valid()) return "no connection";
        for (std::size_t sent = 0; sent < text.size();) {
            const ssize_t bytes =
                ::send(socket.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (bytes <= 0) break;
            sent += static_cast<std::size_t>(bytes);
        }
        ::shutdown(socket.get(), SHUT_WR);
        std::string answer;
        char part[4096];
        for (ssize_t bytes = 0; (bytes = ::read(socket.get(), part, sizeof(part))) > 0;)
            answer.append(part, static_cast<std::size_t>(bytes));
        return answer;
    }

    void give_access(const settings::Control& control) {
        auto access = ControlAccess::create(control);
        ASSERT_TRUE(access);
        std::promise<Status> changed;
        boost::asio::post(context_, [&] {
            changed.set_value(server_->change_access(std::move(access).value()));
        });
        EXPECT_TRUE(changed.get_future().get());
    }

    // As ask(), by a user without rights.
    void ask_as_nobody(const std::string& text) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(::setresuid(65534, 65534, 65534) == 0 && ask(text).starts_with("{\"ok\":true")
                        ? 0
                        : 1);
        int status = 1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }

    // Starts a process of a user that opens connections and asks nothing, until nobody can write to
    // `end`. Returns when it has opened them.
    pid_t connect_as(uid_t user, std::size_t count, const int (&end)[2]) {
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        const pid_t child = ::fork();
        char byte = 0;
        if (child == 0) {
            ::close(end[1]);
            if (::setresuid(user, user, user) != 0) ::_exit(1);
            std::vector<UniqueFd> sockets;
            while (sockets.size() < count) sockets.push_back(connect());
            if (!sockets.back().valid() || ::write(ready[1], &byte, 1) != 1) ::_exit(1);
            ::_exit(::read(end[0], &byte, 1) == 0 ? 0 : 1);
        }
        ::close(ready[1]);
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        return child;
    }

    std::string path_;
    Requests requests_;
    std::atomic<int> clock_ms_{1'000'000};
    boost::asio::io_context context_{1};
    std::unique_ptr<ControlServer> server_;
    std::thread thread_;
};

TEST_F(ControlServerTest, MakesTenStatusesASecondForAllButRoot) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may ask as another user";
    settings::Control control = at(path_);
    control.read = settings::Callers::Anyone;
    give_access(control);
    const std::string status = "{\"command\":\"status\"}\n";
    for (int i = 0; i < 5; ++i) ask_as_nobody(status);
    EXPECT_EQ(requests_.handled, 1);
    clock_ms_ += 99;
    ask_as_nobody(status);
    EXPECT_EQ(requests_.handled, 1);
    ++clock_ms_;
    ask_as_nobody(status);
    EXPECT_EQ(requests_.handled, 2);
    EXPECT_EQ(ask(status), "{\"ok\":true,\"fields\":1}\n");
    EXPECT_EQ(requests_.handled, 3) << "root gets no stored answer";
    ask_as_nobody(status);
    EXPECT_EQ(requests_.handled, 3) << "the answer that root got serves others, too";
    ask("{\"command\":\"decline\"}\n");
    ask_as_nobody(status);
    EXPECT_EQ(requests_.handled, 5) << "a status of before the change";
}

TEST_F(ControlServerTest, AnswersARequest) {
    EXPECT_EQ(ask("{\"command\":\"status\",\"more\":[1,2]}\n"), "{\"ok\":true,\"fields\":2}\n");
}

TEST_F(ControlServerTest, SaysWhatIsWrongWithARequest) {
    EXPECT_NE(ask("hello\n").find("not a JSON object"), std::string::npos);
    EXPECT_NE(ask("[1]\n").find("not a JSON object"), std::string::npos);
    EXPECT_NE(ask("\xff\xfe\n").find("not a JSON object"), std::string::npos);
    EXPECT_NE(ask("{\"a\":" + std::string(1000, '[') + "\n").find("not a JSON object"),
              std::string::npos);
    EXPECT_NE(ask(std::string(200'000, 'x')).find("longer than 64 KiB"), std::string::npos);
    EXPECT_EQ(ask(""), "");
    EXPECT_EQ(ask("{}\n"), "{\"ok\":true,\"fields\":0}\n") << "it still answers";
}

// The new owner of the connection answers; the server neither reads from it nor counts it any more.
TEST_F(ControlServerTest, PassesAConnectionOn) {
    EXPECT_EQ(ask("{\"command\":\"refuse\"}\n"), "{\"ok\":false,\"error\":\"no room\"}\n");
    EXPECT_EQ(ask("{\"command\":\"status\"}\n"), "{\"ok\":true,\"fields\":1}\n");
    const UniqueFd client = connect();
    const std::string request = "{\"command\":\"watch\"}\n";
    ASSERT_EQ(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    EXPECT_EQ(ask("{\"command\":\"status\"}\n"), "{\"ok\":true,\"fields\":1}\n")
        << "the server goes on";
    const UniqueFd passed = std::move(requests_.passed);
    ASSERT_TRUE(passed.valid());
    ASSERT_EQ(::send(client.get(), "ab", 2, MSG_NOSIGNAL), 2);
    ASSERT_EQ(::send(passed.get(), "cd", 2, MSG_NOSIGNAL), 2);
    char text[2];
    EXPECT_EQ(::recv(passed.get(), text, 2, MSG_WAITALL), 2);
    EXPECT_EQ(std::string(text, 2), "ab");
    EXPECT_EQ(::recv(client.get(), text, 2, MSG_WAITALL), 2);
    EXPECT_EQ(std::string(text, 2), "cd");
}

TEST_F(ControlServerTest, HasRoomForRootHoweverManyUsersStall) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may connect as other users";
    settings::Control control = at(path_);
    control.read = settings::Callers::Anyone;
    give_access(control);
    int end[2];
    ASSERT_EQ(::pipe2(end, O_CLOEXEC), 0);
    std::vector<pid_t> users;
    for (uid_t user = 60001; user <= 60004; ++user) users.push_back(connect_as(user, 8, end));
    EXPECT_EQ(ask("{\"command\":\"status\"}\n"), "{\"ok\":true,\"fields\":1}\n");
    std::promise<std::uint64_t> turned_away;
    boost::asio::post(context_, [&] { turned_away.set_value(server_->counts().turned_away); });
    EXPECT_EQ(turned_away.get_future().get(), 8) << "those of the last user";
    ::close(end[1]);
    for (const pid_t user : users) {
        int status = 1;
        EXPECT_EQ(::waitpid(user, &status, 0), user);
        EXPECT_EQ(status, 0);
    }
    ::close(end[0]);
}

TEST_F(ControlServerTest, IsForRootAlone) {
    struct stat facts {};
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(ControlServerTest, ChangesWhoMayComeIn) {
    settings::Control control = at(path_);
    control.read = settings::Callers::Anyone;
    give_access(control);
    struct stat facts {};
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0666U);
    EXPECT_EQ(server_->access().control().read, settings::Callers::Anyone);
}

TEST_F(ControlServerTest, LeavesASocketThatAnswersAndAFileThatIsNone) {
    boost::asio::io_context other;
    Requests nothing;
    const auto second = ControlServer::listen(other, at(path_), nothing);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("another lagtrapd"), std::string::npos);

    const std::string file = path_ + ".file";
    std::ofstream(file) << "precious";
    EXPECT_FALSE(ControlServer::listen(other, at(file), nothing));
    EXPECT_TRUE(std::filesystem::exists(file));
    std::filesystem::remove(file);
    EXPECT_FALSE(ControlServer::listen(other, at(path_ + "2", "no_such_group"), nothing));
}

}  // namespace
}  // namespace lagtrap::daemon::control_server_test
