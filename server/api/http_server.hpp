// HTTP and HTTPS server for a Service: sockets, timeouts, limits, shutdown.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

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

// What happened to the server.
struct HungUp {};             // SIGHUP
struct CertificateReloaded {  // after SIGHUP, unless the server has none
    Status done;              // an error: the old one stays
};
struct Stopping {};  // SIGTERM or SIGINT arrived
struct Tick {};      // every 5 s, unless the last one is still being handled
using HttpReport = std::variant<HungUp, CertificateReloaded, Stopping, Tick>;

class HttpServer {
  public:
    HttpServer() = default;
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    virtual ~HttpServer() = default;

    // Called on threads of the server.
    using Report = std::function<void(const HttpReport&)>;
    // Listens on return; run() serves requests. `service` must outlive the server.
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options,
                                                                    Service& service,
                                                                    Report report);

    // "http://127.0.0.1:7788", with the port that the system assigned.
    [[nodiscard]] virtual std::string address() const = 0;
    // Serves until SIGTERM or SIGINT, then finishes running requests within the shutdown deadline.
    // True if all of them finished.
    virtual bool run() = 0;
};

}  // namespace lagtrap::server
