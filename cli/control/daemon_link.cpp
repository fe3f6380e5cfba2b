#include "cli/control/daemon_link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/control/control_client.hpp"

namespace lagtrap::cli {

Result<DaemonLink> DaemonLink::open(const std::filesystem::path& socket) {
    TRY_ASSIGN(UniqueFd connection, connect_to_daemon(socket));
    return DaemonLink(std::move(connection));
}

Status DaemonLink::await(std::chrono::steady_clock::time_point end,
                         const volatile std::sig_atomic_t& stop) const {
    constexpr int look_interval_ms = 100;  // how often `stop` is checked
    for (;;) {
        if (stop != 0) return make_error(ErrorKind::Vanished, "interrupted");
        pollfd ready{connection_.get(), POLLIN, 0};
        if (::poll(&ready, 1, look_interval_ms) > 0) return success();
        if (std::chrono::steady_clock::now() > end)
            return make_error(ErrorKind::Timeout,
                              "lagtrapd did not answer: this machine is too busy");
    }
}

Result<bool> DaemonLink::read_some(UniqueFd& file) {
    char buffer[16 * 1024];
    iovec part{buffer, sizeof buffer};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    const ssize_t size = ::recvmsg(connection_.get(), &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) return true;
    if (is_end_of_connection(size)) return false;
    if (size < 0) return system_error("reading lagtrapd's answer");
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
        int received = -1;
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
        std::memcpy(&received, CMSG_DATA(one), sizeof received);
        file = UniqueFd(received);
    }
    waiting_.append(buffer, static_cast<std::size_t>(size));
    return true;
}

Result<DaemonLink::Answer> DaemonLink::ask(const boost::json::object& request,
                                           std::chrono::seconds limit,
                                           const volatile std::sig_atomic_t& stop) {
    const auto end = std::chrono::steady_clock::now() + limit;
    // If the daemon has ended, it may have said why before.
    (void)send_request(connection_.get(), request);
    Answer answer;
    std::size_t line_end = 0;
    while ((line_end = waiting_.find('\n')) == std::string::npos) {
        TRY(await(end, stop));
        TRY_ASSIGN(const bool more, read_some(answer.file));
        if (!more) return make_error(ErrorKind::Vanished, "lagtrapd has exited");
        if (waiting_.size() > answer_limit_bytes)
            return make_error(ErrorKind::TooLarge, "lagtrapd's answer is longer than 4 MiB");
    }
    const std::string line = waiting_.substr(0, line_end);
    waiting_.erase(0, line_end + 1);
    TRY_ASSIGN(answer.object, answer_in(line));
    return answer;
}

void DaemonLink::end(std::chrono::seconds limit, const volatile std::sig_atomic_t& stop) {
    (void)::shutdown(connection_.get(), SHUT_WR);
    const auto end = std::chrono::steady_clock::now() + limit;
    UniqueFd ignored;
    while (await(end, stop)) {
        const auto more = read_some(ignored);
        if (!more || !*more) return;
        waiting_.clear();
    }
}

}  // namespace lagtrap::cli
