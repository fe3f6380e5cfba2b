// The ends of a lagtrapd that watches a temporary event: the connection of its client, and the
// service that started it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// The option with which the service starts such a lagtrapd.
inline constexpr const char* for_client_option = "--for-client";

// Answers the client's requests one after the other, each a JSON object and a newline, and reports
// the cost to the service. Use it only on the io_context's thread. A client that does not read
// makes only itself wait.
class ClientLink {
  public:
    static constexpr int client_fd = 3, service_fd = 4;  // in the child

    struct Answer {
        boost::json::object object;
        UniqueFd file{};  // sent with it, if it is valid
    };
    // Who answers. Called on the io_context's thread.
    class Owner {
      public:
        Owner() = default;
        Owner(const Owner&) = delete;
        Owner& operator=(const Owner&) = delete;
        virtual ~Owner() = default;

        [[nodiscard]] virtual Answer answer_client(const boost::json::object& request) = 0;
        [[nodiscard]] virtual std::uint64_t used_ppm() = 0;  // of one CPU
        // The client or the service has gone. Called at least once.
        virtual void client_gone() = 0;
    };

    // Takes over the two descriptors of a child; a test passes its own.
    // `owner` must outlive it.
    ClientLink(boost::asio::io_context& context, Owner& owner)
        : ClientLink(context, UniqueFd(client_fd), UniqueFd(service_fd), owner) {}
    ClientLink(boost::asio::io_context& context, UniqueFd client, UniqueFd service, Owner& owner);
    ClientLink(const ClientLink&) = delete;
    ClientLink& operator=(const ClientLink&) = delete;

  private:
    void await_request();
    void await_service();
    void report_cost();
    void take(std::size_t bytes);
    void send(Answer answer);
    // Sends as much as has room, at least a byte of it with the file; returns the number of bytes.
    [[nodiscard]] std::size_t send_with_file(int file);

    Owner& owner_;
    boost::asio::local::stream_protocol::socket client_;
    boost::asio::posix::stream_descriptor service_;
    boost::asio::steady_timer timer_;
    std::string request_, answer_;
};

}  // namespace lagtrap::daemon
