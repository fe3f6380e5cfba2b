// One connection of the HTTP server. Only the HTTP server's own files include this.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "server/api/application.hpp"
#include "server/api/http_server.hpp"

namespace lagtrap::server {

// What all connections share; outlives them.
struct ConnectionContext {
    const HttpOptions& options;
    Application& application;
    boost::asio::thread_pool& workers;  // for what blocks
    std::atomic<bool> stopping{false};
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    // Serves requests until the connection ends, then calls `finished` once.
    virtual void start(std::function<void()> finished) = 0;
    // Ends the connection now if no request runs on it. Any thread.
    virtual void stop_if_idle() = 0;
};

// The socket's executor must be a strand. `tls` is null for plain HTTP.
[[nodiscard]] std::shared_ptr<Connection> make_connection(boost::asio::ip::tcp::socket socket,
                                                          boost::asio::ssl::context* tls, ConnectionContext& context);

}  // namespace lagtrap::server
