#include "server/api/http_server.hpp"

#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/text.hpp"
#include "server/accounts/places_of_senders.hpp"
#include "server/api/http_connection.hpp"

namespace lagtrap::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds tick_interval{5};
constexpr std::chrono::milliseconds accept_pause{100};

Result<tcp::endpoint> parse_listen(const std::string& listen) {
    const auto wrong = [&] {
        return make_error(ErrorKind::Invalid,
                          "listen address is \"" + printable(listen) +
                              "\"; expected ADDRESS:PORT such as 127.0.0.1:7788 or [::1]:7788");
    };
    const std::size_t colon = listen.rfind(':');
    if (colon == std::string::npos || colon + 1 == listen.size()) return wrong();
    std::string host = listen.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const std::string port = listen.substr(colon + 1);
    if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos)
        return wrong();
    const int number = std::stoi(port);
    error_code error;
    const auto address = asio::ip::make_address(host, error);
    if (error || number > 65535) return wrong();
    return tcp::endpoint(address, static_cast<std::uint16_t>(number));
}

Result<std::shared_ptr<asio::ssl::context>> make_tls(const HttpOptions& options) {
    if (options.tls_certificate.empty() && options.tls_key.empty())
        return std::shared_ptr<asio::ssl::context>();
    if (options.tls_certificate.empty() || options.tls_key.empty())
        return make_error(ErrorKind::Invalid, "TLS needs both, --tls-certificate and --tls-key");
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                     asio::ssl::context::no_tlsv1_1);
    error_code error;
    tls->use_certificate_chain_file(options.tls_certificate, error);
    if (error)
        return make_error(ErrorKind::Invalid, options.tls_certificate + ": " + error.message());
    tls->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
    if (error) return make_error(ErrorKind::Invalid, options.tls_key + ": " + error.message());
    if (SSL_CTX_check_private_key(tls->native_handle()) != 1)
        return make_error(ErrorKind::Invalid,
                          options.tls_key + ": is not the key of " + options.tls_certificate);
    return tls;
}

// Reports Tick on the workers' threads at each interval.
class Ticker {
  public:
    Ticker(asio::io_context& io, WorkerPool& workers, const HttpServer::Report& report)
        : timer_(io), workers_(workers), report_(report) {}

    void start() {
        timer_.expires_after(tick_interval);
        timer_.async_wait([this](const error_code& error) {
            if (error) return;
            // Retention may wait for the storage. If the last tick is still running, skip this one.
            if (!ticking_.exchange(true))
                asio::post(workers_.pool, [this] {
                    report_(Tick{});
                    ticking_ = false;
                });
            start();
        });
    }

  private:
    asio::steady_timer timer_;
    WorkerPool& workers_;
    const HttpServer::Report& report_;
    std::atomic<bool> ticking_{false};
};

class AsioServer final : public HttpServer {
  public:
    AsioServer(const HttpOptions& options, Service& service, Report report,
               std::shared_ptr<asio::ssl::context> tls)
        : report_(std::move(report)),
          places_(options.connections_of_address),
          context_{options, service},
          io_(static_cast<int>(options.threads)),
          tls_(std::move(tls)),
          acceptor_(asio::make_strand(io_)),
          signals_(io_),
          ticker_(io_, context_.workers.storage, report_),
          deadline_timer_(io_) {}

    Status open(const tcp::endpoint& endpoint) {
        error_code error;
        acceptor_.open(endpoint.protocol(), error);
        if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor_.bind(endpoint, error);
        if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
        for (const int number : {SIGTERM, SIGINT, SIGHUP})
            if (!error) signals_.add(number, error);
        if (error) return system_error("listening on " + context_.options.listen, error.value());
        return success();
    }

    std::string address() const override {
        const tcp::endpoint endpoint = acceptor_.local_endpoint();
        const std::string host = endpoint.address().to_string();
        return std::string(tls_ ? "https://" : "http://") +
               (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
               std::to_string(endpoint.port());
    }

    bool run() override {
        asio::co_spawn(acceptor_.get_executor(), accept(), asio::detached);
        wait_for_signal();
        ticker_.start();
        std::vector<std::thread> threads;
        for (std::uint32_t i = 1; i < context_.options.threads; ++i)
            threads.emplace_back([this] { io_.run(); });
        io_.run();
        for (std::thread& thread : threads) thread.join();
        context_.workers.join();
        return all_finished_;
    }

  private:
    asio::awaitable<void> accept() {
        while (!context_.stopping) {
            error_code error;
            tcp::socket socket = co_await acceptor_.async_accept(
                asio::make_strand(io_), asio::redirect_error(asio::use_awaitable, error));
            if (context_.stopping) co_return;
            if (error) {
                // Most likely out of file descriptors; wait until connections close.
                asio::steady_timer pause(acceptor_.get_executor(), accept_pause);
                co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
                continue;
            }
            admit(std::move(socket));
        }
    }

    // A proxy serves many clients. One that is not configured as trusted counts as a single client.
    bool is_proxy(const std::string& address) const {
        const TrustedProxies& proxies = context_.options.trusted_proxies;
        return context_.options.behind_proxy && (proxies.empty() || proxies.contains(address));
    }

    void turn_away(tcp::socket socket, std::string_view status) {
        ++context_.service.counters().connections_refused;
        if (tls_) return;
        const std::string answer =
            "HTTP/1.1 " + std::string(status) +
            "\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        static_cast<void>(::send(socket.native_handle(), answer.data(), answer.size(),
                                 MSG_DONTWAIT | MSG_NOSIGNAL));
    }

    void admit(tcp::socket socket) {
        error_code failed;
        socket.set_option(tcp::no_delay(true), failed);
        const std::string peer = socket.remote_endpoint(failed).address().to_string();
        if (failed) return;
        std::shared_ptr<void> place;
        if (!is_proxy(peer) && !(place = places_.take(network_of_sender(peer)))) {
            ++context_.service.counters().connections_refused_of_address;
            return turn_away(std::move(socket), "429 Too Many Requests");
        }
        Counters& counters = context_.service.counters();
        std::unique_lock lock(mutex_);
        if (connections_.size() >= context_.options.connections) {
            lock.unlock();
            return turn_away(std::move(socket), "503 Service Unavailable");
        }
        auto connection = make_connection(std::move(socket), tls_, context_);
        HttpConnection* key = connection.get();
        connections_.emplace(key, connection);
        ++counters.connections;
        lock.unlock();
        connection->start([this, key, place = std::move(place)] { forget(key); });
    }

    void forget(HttpConnection* key) {
        const std::lock_guard lock(mutex_);
        connections_.erase(key);
        --context_.service.counters().connections;
        if (context_.stopping && connections_.empty()) io_.stop();
    }

    void wait_for_signal() {
        signals_.async_wait([this](const error_code& error, int number) {
            if (error) return;
            if (number == SIGHUP) {
                asio::post(context_.workers.light.pool, [this] {
                    report_(HungUp{});
                    reload_tls();
                });
                wait_for_signal();
            } else {
                stop();
            }
        });
    }

    // If the certificate cannot be read, the old one stays.
    void reload_tls() {
        if (!tls_) return;
        auto fresh = make_tls(context_.options);
        if (!fresh) return report_(CertificateReloaded{fresh.error()});
        {
            const std::lock_guard lock(mutex_);
            tls_ = std::move(fresh).value();
        }
        report_(CertificateReloaded{success()});
    }

    void stop() {
        report_(Stopping{});
        asio::post(acceptor_.get_executor(), [this] {
            error_code ignored;
            acceptor_.close(ignored);
        });
        deadline_timer_.expires_after(context_.options.shutdown_deadline);
        deadline_timer_.async_wait([this](const error_code& error) {
            if (error) return;
            all_finished_ = false;
            io_.stop();
        });
        const std::lock_guard lock(mutex_);
        context_.stopping = true;
        if (connections_.empty()) io_.stop();
        for (const auto& [key, connection] : connections_)
            if (const auto alive = connection.lock()) alive->stop_if_idle();
    }

    const Report report_;
    PlacesOfSenders places_;
    ConnectionContext context_;  // before io_, whose coroutines use it until they are destroyed
    asio::io_context io_;
    std::shared_ptr<asio::ssl::context> tls_;
    tcp::acceptor acceptor_;
    asio::signal_set signals_;
    Ticker ticker_;
    asio::steady_timer deadline_timer_;
    std::mutex mutex_;
    std::unordered_map<HttpConnection*, std::weak_ptr<HttpConnection>> connections_;
    std::atomic<bool> all_finished_{true};
};

}  // namespace

Result<bool> is_loopback(const std::string& listen) {
    TRY_ASSIGN(const tcp::endpoint endpoint, parse_listen(listen));
    return endpoint.address().is_loopback();
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpOptions& options, Service& service,
                                                       Report report) {
    TRY_ASSIGN(const tcp::endpoint endpoint, parse_listen(options.listen));
    TRY_ASSIGN(auto tls, make_tls(options));
    auto server = std::make_unique<AsioServer>(options, service, std::move(report), std::move(tls));
    TRY(server->open(endpoint));
    return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace lagtrap::server
