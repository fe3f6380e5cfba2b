// HTTP and HTTPS server for a Service: sockets, timeouts, limits, shutdown.
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
    // per /64 for IPv6; trusted proxies are exempt
    std::uint32_t connections_of_address = 256;
    // trusts X-Forwarded-For and X-Forwarded-Proto
    bool behind_proxy = false;
    TrustedProxies trusted_proxies;  // if not empty, trusts only these
    // for a complete header, and between two requests
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds body_timeout{30'000};  // without a byte of the body
    std::uint64_t slowest_bytes_per_second = 1024;   // of a body, on average after body_timeout
    std::chrono::milliseconds shutdown_deadline{30'000};
    std::uint32_t threads = 2;
};

// Whether `listen` is a loopback address; an error if it is not an address.
[[nodiscard]] Result<bool> is_loopback(const std::string& listen);

// Called on threads of the server.
struct HttpCallbacks {
    std::function<void()> on_hangup = [] {};  // SIGHUP
    // reloading the certificate failed
    std::function<void(const Error&)> on_tls_kept = [](const Error&) {};
    std::function<void()> on_tls_read = [] {};  // it was reloaded
    // SIGTERM or SIGINT arrived
    std::function<void()> on_stopping = [] {};
    std::function<void()> on_tick = [] {};  // every 5 s
};

class HttpServer {
  public:
    HttpServer() = default;
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    virtual ~HttpServer() = default;

    // Listens on return; run() serves requests. `service` must outlive the server.
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options,
                                                                    Service& service,
                                                                    HttpCallbacks callbacks);

    // "http://127.0.0.1:7788", with the port that the system assigned.
    [[nodiscard]] virtual std::string address() const = 0;
    // Serves until SIGTERM or SIGINT, then finishes running requests within the shutdown deadline.
    // True if all of them finished.
    virtual bool run() = 0;
};

}  // namespace lagtrap::server
