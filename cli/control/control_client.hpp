// Talks to the daemon over its control socket: a JSON object and a newline each way, one request
// per connection.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

inline constexpr std::size_t answer_limit_bytes = 4 * 1024 * 1024;

// Sends the request and waits up to 10 seconds for the answer, an object with "ok":true. Errors say
// what to do: start the daemon (NotFound), get permission (Denied), or what the daemon refused
// (Invalid).
[[nodiscard]] Result<boost::json::object> ask_daemon(const std::filesystem::path& socket,
                                                     const boost::json::object& request);

// Connects to the daemon's socket. Errors as ask_daemon().
[[nodiscard]] Result<UniqueFd> connect_to_daemon(const std::filesystem::path& socket);
// Sends the request and a newline through the connection.
[[nodiscard]] Status send_request(int connection, const boost::json::object& request);
// The answer in a line of the daemon. Errors: what the daemon refused, or it is no answer
// (Invalid).
[[nodiscard]] Result<boost::json::object> answer_in(const std::string& line);

// True if this result of recv(2) or recvmsg(2) means that the other end is closed: 0, or ECONNRESET
// if it left a request unread. Call it before anything else sets errno.
[[nodiscard]] bool is_end_of_connection(ssize_t received);

// An answer of many lines. The destructor ends it, and the daemon stops the work for it.
class DaemonLines {
  public:
    // Sends the request. Errors as ask_daemon().
    [[nodiscard]] static Result<DaemonLines> ask(const std::filesystem::path& socket,
                                                 const boost::json::object& request);
    // Waits for the next line and returns it without its end; nullopt once the daemon has ended the
    // answer or `stop` is set. ErrorKind::TooLarge for a line of more than `limit_bytes`.
    [[nodiscard]] Result<std::optional<std::string>> next(std::size_t limit_bytes,
                                                          const volatile std::sig_atomic_t& stop);
    // Asks the daemon to end the answer; its remaining lines still follow.
    [[nodiscard]] Status say_enough();

  private:
    explicit DaemonLines(UniqueFd socket) : socket_(std::move(socket)) {}
    UniqueFd socket_;
    std::string waiting_;
    std::size_t searched_ = 0;
};

}  // namespace lagtrap::cli
