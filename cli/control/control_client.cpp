#include "cli/control/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstring>

#include <boost/json.hpp>

#include "core/files.hpp"
#include "core/text.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

namespace {

constexpr std::chrono::seconds answer_wait{10};

Error no_daemon(const std::filesystem::path& socket) {
    return make_error(
        ErrorKind::NotFound,
        "lagtrapd is not running: nothing listens at " + socket.string() +
            "; start it with \"systemctl start lagtrapd\", or name its socket with --socket");
}

// One line without its newline. The end of the connection also ends it.
Result<std::string> read_line(int fd) {
    const auto deadline = std::chrono::steady_clock::now() + answer_wait;
    std::string line;
    while (line.find('\n') == std::string::npos) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd waiting{fd, POLLIN, 0};
        const int ready =
            left.count() > 0 ? ::poll(&waiting, 1, static_cast<int>(left.count())) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0) return system_error("wait for lagtrapd's answer");
        if (ready == 0)
            return make_error(ErrorKind::Timeout, "lagtrapd did not answer within 10 seconds");
        char buffer[16 * 1024];
        const ssize_t size = ::recv(fd, buffer, sizeof(buffer), 0);
        if (size < 0 && errno == EINTR) continue;
        if (is_end_of_connection(size)) break;
        if (size < 0) return system_error("reading lagtrapd's answer");
        line.append(buffer, static_cast<std::size_t>(size));
        if (line.size() > answer_limit_bytes) {
            return make_error(ErrorKind::TooLarge, "lagtrapd's answer is longer than 4 MiB");
        }
    }
    return line.substr(0, line.find('\n'));
}

}  // namespace

bool is_end_of_connection(ssize_t received) {
    return received == 0 || (received < 0 && errno == ECONNRESET);
}

Result<UniqueFd> connect_to_daemon(const std::filesystem::path& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket.string();
    if (path.size() >= sizeof(address.sun_path)) {
        return make_error(ErrorKind::Invalid, "the socket's path has " +
                                                  std::to_string(path.size()) +
                                                  " bytes; the limit is " +
                                                  std::to_string(sizeof(address.sun_path) - 1));
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.valid()) return system_error("create a socket");
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
        return fd;
    if (errno == ENOENT || errno == ECONNREFUSED) return no_daemon(socket);
    if (errno == EACCES || errno == EPERM) {
        return make_error(ErrorKind::Denied, "no permission to talk to lagtrapd at " + path +
                                                 "; run as root, or join the group that the "
                                                 "settings name in <control group=\"...\">");
    }
    return system_error("connect to lagtrapd at " + path);
}

Status send_request(int connection, const boost::json::object& request) {
    const std::string line = boost::json::serialize(request) + "\n";
    for (std::string_view text = line; !text.empty();) {
        const ssize_t size = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return system_error("asking lagtrapd");
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return success();
}

Result<boost::json::object> answer_in(const std::string& line) {
    boost::system::error_code failure;
    boost::json::parse_options options;
    options.max_depth = 16;
    boost::json::value answer = boost::json::parse(line, failure, {}, options);
    if (failure || !answer.is_object()) {
        return make_error(ErrorKind::Invalid, "lagtrapd's answer is not a JSON object: \"" +
                                                  printable(line.substr(0, 60)) + "\"");
    }
    boost::json::object object = std::move(answer.as_object());
    const auto* ok = object.if_contains("ok");
    if (ok != nullptr && ok->is_bool() && ok->as_bool()) return object;
    const auto* problem = object.if_contains("error");
    const bool has_text = problem != nullptr && problem->is_string();
    return make_error(ErrorKind::Invalid,
                      has_text ? printable(std::string_view(problem->as_string()))
                               : std::string("lagtrapd refused the request without a reason"));
}

Result<boost::json::object> ask_daemon(const std::filesystem::path& socket,
                                       const boost::json::object& request) {
    TRY_ASSIGN(const UniqueFd fd, connect_to_daemon(socket));
    TRY(send_request(fd.get(), request));
    TRY_ASSIGN(const std::string line, read_line(fd.get()));
    return answer_in(line);
}

Result<DaemonLines> DaemonLines::ask(const std::filesystem::path& socket,
                                     const boost::json::object& request) {
    TRY_ASSIGN(UniqueFd fd, connect_to_daemon(socket));
    TRY(send_request(fd.get(), request));
    return DaemonLines(std::move(fd));
}

Status DaemonLines::say_enough() {
    constexpr char enough = '\n';
    return ::send(socket_.get(), &enough, 1, MSG_NOSIGNAL) == 1
               ? success()
               : Status(system_error("ask lagtrapd to stop"));
}

Result<std::optional<std::string>> DaemonLines::next(std::size_t limit_bytes,
                                                     const volatile std::sig_atomic_t& stop) {
    // How often `stop` is checked, in case its signal came just before the wait.
    constexpr int look_interval_ms = 100;
    for (;;) {
        if (const auto end = waiting_.find('\n', searched_); end != std::string::npos) {
            std::string line = waiting_.substr(0, end);
            waiting_.erase(0, end + 1);
            searched_ = 0;
            return std::optional(std::move(line));
        }
        searched_ = waiting_.size();
        if (waiting_.size() > limit_bytes)
            return make_error(ErrorKind::TooLarge, "lagtrapd's answer has too long a line");
        if (stop != 0) return std::optional<std::string>();
        pollfd ready{socket_.get(), POLLIN, 0};
        if (::poll(&ready, 1, look_interval_ms) <= 0) continue;
        std::array<char, 64 * 1024> buffer;
        const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (size < 0 && errno == EINTR) continue;
        if (is_end_of_connection(size)) return std::optional<std::string>();
        if (size < 0) return system_error("reading lagtrapd's answer");
        waiting_.append(buffer.data(), static_cast<std::size_t>(size));
    }
}

}  // namespace lagtrap::cli
