// One connection of the HTTP server. Only the HTTP server's own files include this.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "server/api/http_server.hpp"
#include "server/api/service.hpp"
#include "server/api/worker_pools.hpp"

namespace lagtrap::server {

// Shared by all connections, and outlives them.
struct ConnectionContext {
    const HttpOptions options;
    Service& service;
    WorkerPools workers{};
    std::atomic<bool> stopping{false};
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
  public:
    HttpConnection() = default;
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;
    virtual ~HttpConnection() = default;

    // Serves requests until the connection ends, then calls `finished` once.
    virtual void start(std::function<void()> finished) = 0;
    // Closes the connection now if it serves no request. Any thread.
    virtual void stop_if_idle() = 0;
};

// The socket's executor must be a strand. `tls` is null for plain HTTP.
[[nodiscard]] std::shared_ptr<HttpConnection> make_connection(
    boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls,
    ConnectionContext& context);

}  // namespace lagtrap::server
