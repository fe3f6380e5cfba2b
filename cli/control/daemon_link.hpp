// A connection to the daemon that stays open: several requests and answers, and files with them.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

class DaemonLink {
  public:
    struct Answer {
        boost::json::object object;
        UniqueFd file;  // not valid if none came with the answer
    };

    // Errors as ask_daemon().
    [[nodiscard]] static Result<DaemonLink> open(const std::filesystem::path& socket);

    // Sends the request and waits for its answer, an object with "ok":true. Errors: refused
    // (Invalid), the daemon or its work has ended (Vanished), `stop` was set (Vanished), Timeout.
    [[nodiscard]] Result<Answer> ask(const boost::json::object& request, std::chrono::seconds limit,
                                     const volatile std::sig_atomic_t& stop);

    // Ends the connection, and waits until the daemon has ended what it did for it.
    void end(std::chrono::seconds limit, const volatile std::sig_atomic_t& stop);

  private:
    explicit DaemonLink(UniqueFd connection) : connection_(std::move(connection)) {}
    // Waits until something can be read.
    [[nodiscard]] Status await(std::chrono::steady_clock::time_point end,
                               const volatile std::sig_atomic_t& stop) const;
    // Reads what is there, and a file if one comes with it. False at the end of the connection.
    [[nodiscard]] Result<bool> read_some(UniqueFd& file);

    UniqueFd connection_;
    std::string waiting_;
};

}  // namespace lagtrap::cli
