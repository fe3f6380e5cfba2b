#include "server/api/connection.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

namespace lagtrap::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::uint32_t header_limit_bytes = 16 * 1024;
constexpr std::size_t body_chunk_bytes = 128 * 1024;
constexpr std::chrono::seconds handshake_timeout{10};
constexpr std::chrono::seconds write_timeout{30};
// How much of a refused body is read, and for how long, so that the sender gets to see the answer.
constexpr std::uint64_t drain_limit_bytes = 64ULL << 20;
constexpr std::chrono::seconds drain_timeout{5};

using Parser = http::request_parser<http::empty_body>;

Method method_of(http::verb verb) {
    if (verb == http::verb::get) return Method::Get;
    if (verb == http::verb::head) return Method::Head;
    return verb == http::verb::put ? Method::Put : Method::Other;
}

// Arguments of awaited functions have names throughout this file: GCC 12.2 destroys temporaries among them twice.
// References among them stay valid because the caller awaits the callee at once.

// Runs `work` among the workers; the coroutine goes on where it was.
template <typename Work>
asio::awaitable<Reply> run_apart(asio::thread_pool& workers, Work work) {
    auto task = [work = std::move(work)]() mutable -> asio::awaitable<Reply> { co_return work(); };
    Reply reply = co_await asio::co_spawn(workers, std::move(task), asio::use_awaitable);
    co_return reply;
}

// What is known of an upload before its body is read.
struct UploadPlan {
    std::uint64_t length_bytes = 0;
    bool awaits_continue = false;
};

std::variant<UploadPlan, Refusal> plan_upload(const Parser& parser, const Application& application) {
    const auto& message = parser.get();
    if (parser.chunked() || !parser.content_length())
        return Refusal{411, "an upload needs a Content-Length, and is not chunked"};
    const auto type = message[http::field::content_type];
    if (!type.empty() && type != "application/zstd" && type != "application/octet-stream")
        return Refusal{415, "a bundle has the type application/zstd"};
    if (message.find(http::field::content_encoding) != message.end())
        return Refusal{415, "a bundle has no Content-Encoding"};
    UploadPlan plan;
    plan.length_bytes = *parser.content_length();
    plan.awaits_continue = beast::iequals(message[http::field::expect], "100-continue");
    if (auto refusal = application.ingest().check(plan.length_bytes)) return *refusal;
    return plan;
}

template <typename Stream>
class HttpConnection final : public Connection {
  public:
    template <typename... Arguments>
    explicit HttpConnection(ConnectionContext& context, Arguments&&... arguments)
        : context_(context), stream_(std::forward<Arguments>(arguments)...) {
        // Reads of one call are no larger than what the buffer has free.
        buffer_.reserve(header_limit_bytes);
    }

    void start(std::function<void()> finished) override {
        auto self = std::static_pointer_cast<HttpConnection>(shared_from_this());
        asio::co_spawn(
            stream_.get_executor(), [self] { return self->serve(); },
            [self, finished = std::move(finished)](const std::exception_ptr&) { finished(); });
    }

    void stop_if_idle() override {
        auto self = std::static_pointer_cast<HttpConnection>(shared_from_this());
        asio::post(stream_.get_executor(), [self] {
            if (self->idle_) self->lowest().cancel();
        });
    }

  private:
    static constexpr bool is_tls = !std::is_same_v<Stream, beast::tcp_stream>;

    beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

    asio::awaitable<void> serve() {
        error_code error;
        if constexpr (is_tls) {
            lowest().expires_after(handshake_timeout);
            co_await stream_.async_handshake(asio::ssl::stream_base::server,
                                             asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return;
        }
        for (bool go_on = true; go_on && !context_.stopping;) go_on = co_await serve_request();
        co_await close();
    }

    // False if the connection is to end.
    asio::awaitable<bool> serve_request() {
        parser_.emplace();
        parser_->header_limit(header_limit_bytes);
        parser_->body_limit(boost::none);
        error_code error;
        lowest().expires_after(context_.options.header_timeout);
        idle_ = true;
        co_await http::async_read_header(stream_, buffer_, *parser_, asio::redirect_error(asio::use_awaitable, error));
        idle_ = false;
        if (error) {
            const bool malformed = error.category() == make_error_code(http::error::bad_method).category() &&
                                   error != http::error::end_of_stream && error != http::error::partial_message;
            if (malformed) {
                const unsigned status = error == http::error::header_limit ? 431 : 400;
                const Refusal refusal{status, "not an HTTP request that this server takes: " + error.message()};
                co_await refuse(refusal);
            }
            co_return false;
        }
        ++context_.application.counters().requests;
        co_return co_await dispatch();
    }

    asio::awaitable<bool> dispatch() {
        const auto& message = parser_->get();
        const auto found = find_route(method_of(message.method()), message.target());
        if (const auto* refusal = std::get_if<Refusal>(&found)) co_return co_await refuse(*refusal);
        const Route route = std::get<Route>(found);
        const auto sender =
            context_.application.authorise(route, message[http::field::authorization], message[http::field::host]);
        if (const auto* refusal = std::get_if<Refusal>(&sender)) co_return co_await refuse(*refusal);
        if (route.kind == RouteKind::UploadBundle)
            co_return co_await receive(route.digest, std::get<std::string>(sender));
        if (parser_->chunked() || parser_->content_length().value_or(0) > 0) {
            const Refusal refusal{400, "this request takes no body"};
            co_return co_await refuse(refusal);
        }

        Application& application = context_.application;
        auto work = [&application, route] { return application.answer(route); };
        Reply reply = co_await run_apart(context_.workers, std::move(work));
        co_return co_await write(std::move(reply));
    }

    asio::awaitable<bool> receive(const std::string& digest, const std::string& sender) {
        const auto planned = plan_upload(*parser_, context_.application);
        if (const auto* refusal = std::get_if<Refusal>(&planned)) {
            ++context_.application.counters().uploads_refused;
            co_return co_await refuse(*refusal);
        }
        const UploadPlan plan = std::get<UploadPlan>(planned);
        auto begun = context_.application.ingest().begin();
        if (!begun) {
            const Refusal refusal = Ingest::refusal_of(begun.error());
            co_return co_await refuse(refusal);
        }
        auto blob = std::make_shared<IncomingBlob>(std::move(begun).value());
        if (plan.awaits_continue) co_await write_continue();

        const Status stored = co_await read_body(*blob, plan.length_bytes);
        if (!stored) {
            auto& counters = context_.application.counters();
            if (stored.error().kind == ErrorKind::Vanished) {
                ++counters.uploads_aborted;
                co_return false;
            }
            ++counters.uploads_refused;
            const std::uint64_t left = plan.length_bytes - blob->size_bytes();
            const Refusal refusal = stored.error().kind == ErrorKind::Timeout ? Refusal{408, stored.error().message}
                                                                              : Ingest::refusal_of(stored.error());
            blob.reset();  // gives the disk its room back before the sender hears of it
            co_return co_await refuse(refusal, left);
        }
        Application& application = context_.application;
        auto work = [&application, blob, digest, sender] {
            return application.finish_upload(std::move(*blob), digest, sender);
        };
        Reply reply = co_await run_apart(context_.workers, std::move(work));
        co_return co_await write(std::move(reply));
    }

    asio::awaitable<void> write_continue() {
        static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
        error_code error;
        lowest().expires_after(write_timeout);
        co_await asio::async_write(stream_, asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
    }

    // ErrorKind::Vanished if the sender went away, Timeout if it is too slow, others from the disk.
    asio::awaitable<Status> read_body(IncomingBlob& blob, std::uint64_t length_bytes) {
        std::uint64_t left = length_bytes;
        const auto already = std::min<std::uint64_t>(left, buffer_.size());
        if (already > 0) {
            const Status written = blob.write(buffer_.data().data(), already);
            buffer_.consume(already);
            left -= already;
            if (!written) co_return written;
        }
        std::vector<char> chunk(std::min<std::uint64_t>(std::max<std::uint64_t>(left, 1), body_chunk_bytes));
        const auto began = steady_clock::now();
        Counters& counters = context_.application.counters();
        while (left > 0) {
            error_code error;
            lowest().expires_after(context_.options.body_timeout);
            const std::size_t got = co_await stream_.async_read_some(
                asio::buffer(chunk.data(), std::min<std::uint64_t>(left, chunk.size())),
                asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return make_error(ErrorKind::Vanished, error.message());
            counters.upload_bytes += got;
            const Status written = blob.write(chunk.data(), got);
            left -= got;
            if (!written) co_return written;
            if (too_slow(began, length_bytes - left)) {
                co_return make_error(ErrorKind::Timeout, "the upload is too slow");
            }
        }
        co_return success();
    }

    [[nodiscard]] bool too_slow(steady_clock::time_point began, std::uint64_t received_bytes) const {
        const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - began);
        return elapsed > context_.options.body_timeout &&
               received_bytes < context_.options.slowest_bytes_per_second * static_cast<std::uint64_t>(elapsed.count());
    }

    // A refusal before or within a body of which `left` bytes are still to come (nothing: what the header says).
    asio::awaitable<bool> refuse(const Refusal& refusal, std::optional<std::uint64_t> left = std::nullopt) {
        const auto& message = parser_->get();
        const bool whole = parser_->is_header_done();
        std::uint64_t body = left.value_or(whole ? parser_->content_length().value_or(0) : 0);
        // A sender that waits for "100 Continue" may or may not send the body after a refusal.
        const bool unsure = whole && !left && message.find(http::field::expect) != message.end() && body > 0;
        if (!whole || parser_->chunked() || unsure) {
            must_close_ = true;
            body = unsure ? 0 : body;
        }
        if (body > 0) must_close_ = must_close_ || body > drain_limit_bytes;
        Reply reply = reply_of(refusal);
        const bool go_on = co_await write(std::move(reply));
        if (body == 0 && !parser_->chunked()) co_return go_on;
        const bool drained = co_await drain(body);
        co_return go_on&& drained;
    }

    // Reads and forgets; true if all of it came.
    asio::awaitable<bool> drain(std::uint64_t body) {
        std::uint64_t left = std::min(body, drain_limit_bytes);
        const auto already = std::min<std::uint64_t>(left, buffer_.size());
        buffer_.consume(already);
        left -= already;
        std::vector<char> chunk(16 * 1024);
        lowest().expires_after(drain_timeout);
        while (left > 0) {
            error_code error;
            const std::size_t got = co_await stream_.async_read_some(
                asio::buffer(chunk.data(), std::min<std::uint64_t>(left, chunk.size())),
                asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return false;
            left -= got;
        }
        co_return body <= drain_limit_bytes;
    }

    template <typename Body>
    void set_fields(http::response<Body>& response, const Reply& reply, bool keep_alive) {
        response.set(http::field::server, "lagtrap-server/" LAGTRAP_VERSION);
        response.set(http::field::content_type, reply.content_type);
        response.set("X-Content-Type-Options", "nosniff");
        response.set(http::field::cache_control, "no-store");
        for (const auto& [name, value] : reply.headers) response.set(name, value);
        response.keep_alive(keep_alive);
    }

    // False if the connection is to end.
    asio::awaitable<bool> write(Reply reply) {
        const auto& message = parser_->get();
        const bool keep_alive = !must_close_ && !context_.stopping && message.keep_alive();
        const bool head = message.method() == http::verb::head;
        if (reply.status >= 400) ++context_.application.counters().refused_requests;
        error_code error;
        if (!reply.file.empty() && !head) co_return co_await write_file(std::move(reply), keep_alive);
        lowest().expires_after(write_timeout);
        if (head) {
            http::response<http::empty_body> response(static_cast<http::status>(reply.status), 11);
            set_fields(response, reply, keep_alive);
            response.content_length(reply.announced_bytes.value_or(reply.body.size()));
            co_await http::async_write(stream_, response, asio::redirect_error(asio::use_awaitable, error));
        } else {
            http::response<http::string_body> response(static_cast<http::status>(reply.status), 11);
            set_fields(response, reply, keep_alive);
            response.body() = std::move(reply.body);
            response.prepare_payload();
            co_await http::async_write(stream_, response, asio::redirect_error(asio::use_awaitable, error));
        }
        co_return !error && keep_alive;
    }

    asio::awaitable<bool> write_file(Reply reply, bool keep_alive) {
        http::response<http::file_body> response(http::status::ok, 11);
        error_code error;
        response.body().open(reply.file.c_str(), beast::file_mode::scan, error);
        if (error) {
            reply = reply_of({404, "the bundle is gone"});
            co_return co_await write(std::move(reply));
        }
        set_fields(response, reply, keep_alive);
        response.prepare_payload();
        http::response_serializer<http::file_body> serializer(response);
        while (!serializer.is_done()) {
            // Anew for each piece: a slow reader is no reason, a stalled one is.
            lowest().expires_after(write_timeout);
            co_await http::async_write_some(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return false;
        }
        co_return keep_alive;
    }

    asio::awaitable<void> close() {
        error_code error;
        lowest().expires_after(drain_timeout);
        if constexpr (is_tls) {
            co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, error));
        }
        lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
        lowest().close();
    }

    ConnectionContext& context_;
    Stream stream_;
    beast::flat_buffer buffer_{2 * header_limit_bytes};
    std::optional<Parser> parser_;
    bool idle_ = false;
    bool must_close_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_connection(asio::ip::tcp::socket socket, asio::ssl::context* tls,
                                            ConnectionContext& context) {
    if (tls == nullptr) return std::make_shared<HttpConnection<beast::tcp_stream>>(context, std::move(socket));
    return std::make_shared<HttpConnection<beast::ssl_stream<beast::tcp_stream>>>(context, std::move(socket), *tls);
}

}  // namespace lagtrap::server
