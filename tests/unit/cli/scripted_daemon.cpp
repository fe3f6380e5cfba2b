#include "tests/unit/cli/scripted_daemon.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <list>
#include <memory>
#include <sstream>

#include <boost/json.hpp>

#include "core/unique_fd.hpp"

namespace lagtrap::test {
namespace {

struct Peer {
    UniqueFd socket;
    std::string unread{};
};

UniqueFd listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    return socket;
}

void send_file(int socket, const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const int number = file.get();
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    char letter = ' ';
    iovec data{&letter, 1};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &number, sizeof(number));
    (void)::sendmsg(socket, &message, MSG_NOSIGNAL);
}

void send_text(int socket, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        if (size <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
}

// Returns when the other end has read everything, or is gone.
void await_read(int socket) {
    const auto unread = [socket] {
        int bytes = 0;
        return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0;
    };
    pollfd gone{socket, 0, 0};
    while (unread() && ::poll(&gone, 1, 1) == 0) {
    }
}

// False once the connection is over.
bool serve(Peer& peer, const ScriptedDaemon::Handler& handler, const std::string& log) {
    char buffer[65536];
    const ssize_t size = ::recv(peer.socket.get(), buffer, sizeof(buffer), 0);
    if (size <= 0) return false;
    peer.unread.append(buffer, static_cast<std::size_t>(size));
    for (std::size_t end = 0; (end = peer.unread.find('\n')) != std::string::npos;) {
        const std::string line = peer.unread.substr(0, end);
        peer.unread.erase(0, end + 1);
        std::ofstream(log, std::ios::app) << line << "\n";
        const ScriptedDaemon::Answer answer = handler(line);
        if (!answer.file.empty()) send_file(peer.socket.get(), answer.file);
        send_text(peer.socket.get(), answer.text);
        if (answer.interrupted != 0) {
            await_read(peer.socket.get());
            ::kill(answer.interrupted, SIGINT);
        }
        if (answer.ends) return false;
    }
    return true;
}

[[noreturn]] void serve_all(int listening, const ScriptedDaemon::Handler& handler,
                            const std::string& log) {
    std::list<Peer> peers;
    for (;;) {
        std::vector<pollfd> waiting{{listening, POLLIN, 0}};
        for (const Peer& peer : peers) waiting.push_back({peer.socket.get(), POLLIN, 0});
        if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
        auto peer = peers.begin();
        for (std::size_t i = 1; i < waiting.size(); ++i) {
            const bool over = waiting[i].revents != 0 && !serve(*peer, handler, log);
            peer = over ? peers.erase(peer) : std::next(peer);
        }
        if (waiting[0].revents != 0)
            peers.push_back({UniqueFd(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC))});
    }
}

}  // namespace

ScriptedDaemon::ScriptedDaemon(std::string socket, const Handler& handler) : log_(socket + ".log") {
    std::ofstream(log_, std::ios::app).flush();
    const UniqueFd listening = listen_at(socket);
    child_ = ::fork();
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve_all(listening.get(), handler, log_);
}

ScriptedDaemon::~ScriptedDaemon() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

std::vector<std::string> ScriptedDaemon::lines() const {
    std::vector<std::string> all;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
}

std::vector<boost::json::object> ScriptedDaemon::requests() const {
    std::vector<boost::json::object> all;
    for (const std::string& line : lines())
        if (line.starts_with('{')) all.push_back(boost::json::parse(line).as_object());
    return all;
}

std::size_t ScriptedDaemon::count(const std::string& command) const {
    std::size_t count = 0;
    for (const auto& request : requests())
        count += request.at("command").as_string() == command ? 1 : 0;
    return count;
}

ScriptedDaemon::Handler statuses(std::vector<std::string> answers) {
    return [answers = std::move(answers), next = std::size_t{0}](const std::string& line) mutable {
        if (line.find("\"status\"") == std::string::npos)
            return ScriptedDaemon::Answer{"{\"ok\":true}\n"};
        const std::string answer = answers[next];
        next = std::min(next + 1, answers.size() - 1);
        return ScriptedDaemon::Answer{answer + "\n"};
    };
}

Outcome run_with_daemon(std::vector<std::string> arguments, const ScriptedDaemon::Handler& handler,
                        std::vector<std::string>* lines) {
    const TemporaryFolder folder;
    const ScriptedDaemon daemon(folder.string("socket"), handler);
    arguments.insert(arguments.begin() + 1, {"--socket", folder.string("socket")});
    Outcome outcome = run_lagtrap(arguments);
    if (lines != nullptr) *lines = daemon.lines();
    return outcome;
}

std::string line_with(const std::string& text, const std::string& begin) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(begin)) return line;
    return {};
}

std::string text_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace lagtrap::test
