// HTTP and HTTPS for a Service: sockets, time-outs, limits, shutdown.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "server/accounts/sender_network.hpp"
#include "server/api/service.hpp"

namespace lagtrap::server {

struct HttpOptions {
    std::string listen = "127.0.0.1:7788";  // address and port, "[::1]:7788"; port 0: any
    std::string tls_certificate;            // PEM chain; empty: plain HTTP
    std::string tls_key;
    std::uint32_t connections = 1024;
    std::uint32_t connections_of_address = 256;        // of the /64 in IPv6; proxies that are believed may have all
    bool behind_proxy = false;                         // believes X-Forwarded-For and X-Forwarded-Proto
    TrustedProxies trusted_proxies;                    // of these alone, where there are any
    std::chrono::milliseconds header_timeout{10'000};  // for a whole header, and between two requests
    std::chrono::milliseconds body_timeout{30'000};    // without a byte of a body
    std::uint64_t slowest_bytes_per_second = 1024;     // of a body, on average after body_timeout
    std::chrono::milliseconds shutdown_deadline{30'000};
    std::uint32_t threads = 2;
};

// Whether `listen` is an address of this machine's loopback; an error if it is no address.
[[nodiscard]] Result<bool> is_loopback(const std::string& listen);

// What the server tells its program; called from threads of the server.
struct HttpCallbacks {
    std::function<void()> on_hangup = [] {};                              // SIGHUP
    std::function<void(const Error&)> on_tls_kept = [](const Error&) {};  // its reload failed
    std::function<void()> on_tls_read = [] {};                            // it was read again
    std::function<void()> on_stopping = [] {};                            // SIGTERM or SIGINT came
    std::function<void()> on_tick = [] {};                                // every 5 seconds
};

class HttpServer {
  public:
    HttpServer() = default;
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    virtual ~HttpServer() = default;

    // Listens when it returns; requests are served by run(). `service` must outlive the server.
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options, Service& service,
                                                                    HttpCallbacks callbacks);

    // "http://127.0.0.1:7788", with the port that the system gave.
    [[nodiscard]] virtual std::string address() const = 0;
    // Serves until SIGTERM or SIGINT, then finishes what runs within the shutdown deadline. True if all of it was.
    virtual bool run() = 0;
};

}  // namespace lagtrap::server
