// Tests against Debian's own debuginfod on the loopback interface.
#include "binaries/dwarf/debug_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/debug_files.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/binaries/debug_support.hpp"

namespace lagtrap::binaries::test::debug_server_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// A port without a server: while the socket exists, the kernel accepts connections that nobody
// answers.
class SilentPort {
  public:
    SilentPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd_.get(), 8), 0);
        EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        port_ = ntohs(address.sin_port);
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  private:
    UniqueFd fd_;
    std::uint16_t port_ = 0;
};

std::uint16_t free_port() { return SilentPort().port(); }

// The first line of a server's answer; empty if there is none.
std::string status_of(std::uint16_t port, const std::string& path) {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return {};
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
    char answer[64] = {};
    const ssize_t got = ::recv(fd.get(), answer, sizeof answer - 1, 0);
    return got > 0 ? std::string(answer, static_cast<std::size_t>(got)) : std::string{};
}

class Debuginfod {
  public:
    explicit Debuginfod(const fs::path& folder) : port_(free_port()) {
        child_ = ::fork();
        if (child_ == 0) {
            const std::string port = std::to_string(port_);
            const std::string log = (folder / "../debuginfod.log").string();
            if (std::freopen(log.c_str(), "w", stdout) == nullptr ||
                std::freopen(log.c_str(), "a", stderr) == nullptr)
                ::_exit(1);
            ::unsetenv("DEBUGINFOD_URLS");
            ::execlp("debuginfod", "debuginfod", "-F", "-d", ":memory:", "-t", "1", "-p",
                     port.c_str(), folder.c_str(), nullptr);
            ::_exit(127);
        }
    }
    ~Debuginfod() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    Debuginfod(const Debuginfod&) = delete;
    Debuginfod& operator=(const Debuginfod&) = delete;

    // Waits until the server has scanned the folder and has the file.
    [[nodiscard]] bool serves(const std::string& build_id) const {
        for (const auto end = std::chrono::steady_clock::now() + 60s;
             std::chrono::steady_clock::now() < end;) {
            if (status_of(port_, "/buildid/" + build_id + "/debuginfo").find(" 200 ") !=
                std::string::npos)
                return true;
            if (::waitpid(child_, nullptr, WNOHANG) != 0) return false;
            std::this_thread::sleep_for(20ms);
        }
        return false;
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  private:
    std::uint16_t port_;
    pid_t child_;
};

// A program whose debug file a server has, and a cache.
class DebugServers : public ::testing::Test {
  protected:
    DebugServers()
        : split_(inlines("gcc_dwarf5"), folder_.path(), false), id_(build_id_of(split_.program)) {
        fs::create_directories(served());
        fs::rename(split_.debug_file, served() / "program.debug");
    }
    [[nodiscard]] fs::path served() const { return folder_.path() / "served"; }
    [[nodiscard]] DebugServerOptions options(const std::string& url) const {
        DebugServerOptions options;
        options.urls = url;
        options.cache_folder = folder_.path() / "cache";
        options.stall_limit = 1s;
        return options;
    }
    // The begin of errors.
    [[nodiscard]] std::string what(const std::string& url) const {
        return "debug information of build id " + id_ + " from " + url;
    }
    const TemporaryFolder folder_;
    const SplitProgram split_;
    const std::string id_;
};

TEST_F(DebugServers, GiveTheDebugFileOnceThenTheCacheDoes) {
    std::optional<Debuginfod> daemon(served());
    ASSERT_TRUE(daemon->serves(id_)) << content_of(folder_.path() / "debuginfod.log");
    std::uint64_t calls = 0;
    auto asked = options(daemon->url());
    asked.progress = [&](std::uint64_t, std::uint64_t) {
        ++calls;
        return true;
    };
    DebugFileSearch search;
    search.folders.clear();
    std::vector<std::string> failures;
    search.ask_servers =
        ask_debug_servers(asked, [&](const Error& error) { failures.push_back(error.message); });
    const auto found = find_debug_file(split_.program, search);
    ASSERT_TRUE(found) << ::testing::PrintToString(failures);
    EXPECT_TRUE(found->string().starts_with((folder_.path() / "cache").string())) << *found;
    EXPECT_EQ(content_of(*found), content_of(served() / "program.debug"));
    EXPECT_GT(calls, 0U);
    EXPECT_TRUE(SourceLines::open(split_.program, *found, {}));

    // A file that no server has is not an error.
    EXPECT_EQ(find_debug_file_of(std::string(40, 'a'), search), std::nullopt);
    EXPECT_THAT(failures, ::testing::IsEmpty());

    daemon.reset();
    EXPECT_EQ(find_debug_file_of(id_, search), found) << "from the cache";
}

TEST_F(DebugServers, AreGivenUpBeyondTheSizeLimit) {
    const Debuginfod daemon(served());
    ASSERT_TRUE(daemon.serves(id_)) << content_of(folder_.path() / "debuginfod.log");
    auto small = options(daemon.url());
    small.file_bytes = 1'000;
    auto server = DebugServer::make(small);
    ASSERT_TRUE(server) << server.error().message;
    const auto found = server->find(id_);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::TooLarge) << found.error().message;
    EXPECT_EQ(found.error().message, what(daemon.url()) + ": has more than 0 MiB, the limit");
}

TEST_F(DebugServers, ThatHaveNoSuchFileSaySo) {
    const Debuginfod daemon(served());
    ASSERT_TRUE(daemon.serves(id_)) << content_of(folder_.path() / "debuginfod.log");
    auto server = DebugServer::make(options(daemon.url()));
    ASSERT_TRUE(server) << server.error().message;
    const auto missing = server->find(std::string(40, 'a'));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(missing.error().message, "debug information of build id " + std::string(40, 'a') +
                                           " from " + daemon.url() + ": no server has it");
    ASSERT_TRUE(server->find(id_));
    const auto open_files = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const auto before = open_files();
    for (int again = 0; again < 5; ++again) ASSERT_TRUE(server->find(id_));
    EXPECT_EQ(open_files(), before) << "the file that it opens is closed";
}

TEST_F(DebugServers, OfTheEnvironmentAreAskedIfNoOthersAreNamed) {
    const std::string url = "http://127.0.0.1:" + std::to_string(free_port());
    ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
    std::vector<std::string> failures;
    const auto ask = ask_debug_servers(
        options(""), [&](const Error& error) { failures.push_back(error.message); });
    EXPECT_EQ(ask(id_), std::nullopt);
    ::unsetenv("DEBUGINFOD_URLS");
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_TRUE(failures[0].starts_with(what(url) + ": ")) << failures[0];
}

TEST_F(DebugServers, ThatCannotBeReachedAreNamedAndNotAskedForEver) {
    const std::string url = "http://127.0.0.1:" + std::to_string(free_port());
    auto server = DebugServer::make(options(url));
    ASSERT_TRUE(server) << server.error().message;
    for (const char digit : {'1', '2'}) {
        const auto found = server->find(std::string(40, digit));
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().kind, ErrorKind::System) << found.error().message;
        EXPECT_THAT(found.error().message, HasSubstr(url));
    }
    const auto later = server->find(std::string(40, '3'));
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().kind, ErrorKind::Busy) << later.error().message;
    EXPECT_EQ(later.error().message,
              "debuginfod servers are no longer asked, because none answered: " + url);
}

TEST_F(DebugServers, ThatSayNothingAreLeft) {
    const SilentPort silent;
    auto server = DebugServer::make(options(silent.url()));
    ASSERT_TRUE(server) << server.error().message;
    const auto found = server->find(id_);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Timeout) << found.error().message;
    EXPECT_EQ(found.error().message,
              what(silent.url()) + ": no answer within 1 s, or not all within 600 s");
}

TEST_F(DebugServers, AreLeftWhenTheUserSaysSo) {
    const SilentPort silent;
    auto patient = options(silent.url());
    patient.stall_limit = 1h;
    int calls = 0;
    patient.progress = [&](std::uint64_t, std::uint64_t) { return ++calls < 3; };
    auto server = DebugServer::make(patient);
    ASSERT_TRUE(server) << server.error().message;
    const auto found = server->find(id_);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Vanished) << found.error().message;
    EXPECT_EQ(found.error().message, what(silent.url()) + ": stopped");
    EXPECT_EQ(calls, 3);
}

TEST_F(DebugServers, MustBeNamed) {
    ::unsetenv("DEBUGINFOD_URLS");
    auto none = options("");
    std::vector<std::string> failures;
    const auto ask =
        ask_debug_servers(none, [&](const Error& error) { failures.push_back(error.message); });
    EXPECT_EQ(ask(id_), std::nullopt);
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_THAT(failures[0], HasSubstr("set the environment variable DEBUGINFOD_URLS"));
    auto server = DebugServer::make(options("http://127.0.0.1:1"));
    ASSERT_TRUE(server);
    EXPECT_EQ(server->find("../../etc/passwd").error().kind, ErrorKind::Invalid);
}

}  // namespace
}  // namespace lagtrap::binaries::test::debug_server_test
