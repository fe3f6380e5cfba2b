#include "server/api/http_connection.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "server/api/http_message.hpp"
#include "server/api/refused_body.hpp"

namespace lagtrap::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::uint32_t header_limit_bytes = 16 * 1024;
constexpr std::size_t body_chunk_bytes = 128 * 1024;
constexpr std::size_t download_chunk_bytes = 64 * 1024;
constexpr std::chrono::seconds handshake_timeout{10};
constexpr std::chrono::seconds write_timeout{30};
// How long to read a refused body.
constexpr std::chrono::seconds drain_timeout{5};

using Parser = http::request_parser<http::empty_body>;

// The reply if a request's work ended with an exception.
const Refusal& broken() {
    static const Refusal refusal{500, "the server failed at this request", "its log may say why"};
    return refusal;
}

// Arguments of awaited functions are named variables throughout this file: GCC 12.2 destroys
// temporaries among them twice. Reference arguments stay valid because the caller awaits at once.

// Runs `work` on the pool's threads and resumes the coroutine on its own executor. nullopt if the
// work threw.
template <typename Work>
auto run_apart(WorkerPool& workers, Work work) -> asio::awaitable<std::optional<decltype(work())>> {
    using Outcome = std::optional<decltype(work())>;
    auto task = [work = std::move(work)]() mutable -> asio::awaitable<Outcome> {
        try {
            co_return Outcome(work());
        } catch (const std::exception&) {
            co_return Outcome();
        }
    };
    const PoolPlace place(workers);
    co_return co_await asio::co_spawn(workers.pool, std::move(task), asio::use_awaitable);
}

std::optional<std::uint64_t> length_of(const Parser& parser) {
    if (!parser.content_length()) return std::nullopt;
    return *parser.content_length();
}

template <typename Stream>
class HttpConnectionOver final : public HttpConnection {
  public:
    template <typename... Arguments>
    explicit HttpConnectionOver(std::shared_ptr<asio::ssl::context> tls, ConnectionContext& context,
                                Arguments&&... arguments)
        : tls_(std::move(tls)), context_(context), stream_(std::forward<Arguments>(arguments)...) {
        error_code error;
        peer_ = lowest().socket().remote_endpoint(error).address();
        // A read is never larger than the buffer's free space.
        buffer_.reserve(header_limit_bytes);
    }

    void start(std::function<void()> finished) override {
        auto self = std::static_pointer_cast<HttpConnectionOver>(shared_from_this());
        asio::co_spawn(
            stream_.get_executor(), [self] { return self->serve(); },
            [self, finished = std::move(finished)](const std::exception_ptr&) { finished(); });
    }

    void stop_if_idle() override {
        auto self = std::static_pointer_cast<HttpConnectionOver>(shared_from_this());
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

    // False if the connection must end.
    asio::awaitable<bool> serve_request() {
        parser_.emplace();
        parser_->header_limit(header_limit_bytes);
        parser_->body_limit(boost::none);
        body_read_ = false;
        error_code error;
        lowest().expires_after(context_.options.header_timeout);
        idle_ = true;
        co_await http::async_read_header(stream_, buffer_, *parser_,
                                         asio::redirect_error(asio::use_awaitable, error));
        idle_ = false;
        if (error) {
            const bool malformed =
                error.category() == make_error_code(http::error::bad_method).category() &&
                error != http::error::end_of_stream && error != http::error::partial_message;
            if (malformed) {
                const unsigned status = error == http::error::header_limit ? 431 : 400;
                const Refusal refusal{
                    status, "not an HTTP request that this server takes: " + error.message()};
                co_await refuse(refusal);
            }
            co_return false;
        }
        ++context_.service.counters().requests;
        co_return co_await dispatch();
    }

    asio::awaitable<bool> dispatch() {
        auto request = std::make_shared<Request>(request_of(parser_->get(), parser_->chunked(),
                                                            length_of(*parser_), peer_, is_tls,
                                                            context_.options));
        ConnectionContext& context = context_;
        WorkerPool& gate = context.workers.of(context.service.admission_work(*request));
        if (gate.taken >= gate.limit) co_return co_await refuse(overloaded());
        auto admission = [&context, request] { return context.service.admit(*request); };
        auto admitted = co_await run_apart(gate, std::move(admission));
        if (!admitted) co_return co_await refuse(failed());
        if (const auto* refusal = std::get_if<Refusal>(&*admitted))
            co_return co_await refuse(*refusal);
        Plan plan = std::move(std::get<Plan>(*admitted));
        if (plan.upload) co_return co_await receive(std::move(plan.upload));

        const bool has_body = request->chunked || request->content_length.value_or(0) > 0;
        if (plan.body_limit_bytes == 0 && has_body) {
            const Refusal refusal{400, "this request takes no body"};
            co_return co_await refuse(refusal);
        }
        if (has_body) {
            auto wrong = co_await read_small_body(*request, plan.body_limit_bytes);
            if (wrong) co_return co_await refuse(*wrong);
        }
        WorkerPool& workers = context.workers.of(plan.work);
        // Expensive work has few threads; clients would leave an unbounded queue before they were
        // served.
        if (workers.taken >= workers.limit) co_return co_await refuse(overloaded(), 0);
        auto work = [plan = std::move(plan), request] { return plan.answer(*request); };
        auto reply = co_await run_apart(workers, std::move(work));
        if (!reply) co_return co_await refuse(failed(), 0);
        co_return co_await write(std::move(*reply));
    }

    const Refusal& failed() {
        ++context_.service.counters().requests_failed;
        return broken();
    }

    static const Refusal& overloaded() {
        static const Refusal refusal{429, "the server has too much to do",
                                     "try again in some seconds", std::chrono::seconds(2)};
        return refusal;
    }

    // Reads the body into the request. Returns what is wrong with it, or nullopt.
    asio::awaitable<std::optional<Refusal>> read_small_body(Request& request,
                                                            std::uint64_t limit_bytes) {
        if (request.chunked || !request.content_length)
            co_return Refusal{411, "a body needs a Content-Length"};
        if (*request.content_length > limit_bytes)
            co_return Refusal{413, "the body has " + std::to_string(*request.content_length) +
                                       " bytes; at most " + std::to_string(limit_bytes) +
                                       " are taken"};
        const bool waits = beast::iequals(parser_->get()[http::field::expect], "100-continue");
        if (waits) co_await write_continue();
        const auto already = std::min<std::uint64_t>(*request.content_length, buffer_.size());
        request.body.assign(static_cast<const char*>(buffer_.data().data()), already);
        buffer_.consume(already);
        request.body.resize(*request.content_length);
        if (request.body.size() > already) {
            error_code error;
            lowest().expires_after(context_.options.body_timeout);
            auto rest = asio::buffer(request.body.data() + already, request.body.size() - already);
            co_await asio::async_read(stream_, rest,
                                      asio::redirect_error(asio::use_awaitable, error));
            if (error) {
                must_close_ = true;
                co_return Refusal{408, "the body did not come"};
            }
        }
        body_read_ = true;
        co_return std::nullopt;
    }

    asio::awaitable<bool> receive(std::shared_ptr<Upload> upload) {
        const std::uint64_t length_bytes = parser_->content_length().value_or(0);
        const bool waits = beast::iequals(parser_->get()[http::field::expect], "100-continue");
        if (waits) co_await write_continue();
        std::uint64_t received_bytes = 0;
        const Status stored = co_await read_body(*upload, length_bytes, received_bytes);
        if (!stored) {
            auto& counters = context_.service.counters();
            if (stored.error().kind == ErrorKind::Vanished) {
                ++counters.uploads_aborted;
                co_await drop(std::exchange(upload, nullptr));
                co_return false;
            }
            ++counters.uploads_refused;
            const Refusal refusal = stored.error().kind == ErrorKind::Timeout
                                        ? Refusal{408, stored.error().message}
                                        : upload->refusal_of(stored.error());
            // frees the disk space before the sender gets the reply
            co_await drop(std::exchange(upload, nullptr));
            const std::uint64_t left_bytes = length_bytes - received_bytes;
            co_return co_await refuse(refusal, left_bytes);
        }
        auto work = [upload = std::move(upload)] { return upload->finish(); };
        auto reply = co_await run_apart(context_.workers.storage, std::move(work));
        if (!reply) co_return co_await refuse(failed(), 0);
        co_return co_await write(std::move(*reply));
    }

    // Not on the socket threads, because discarding an upload may block; nor on the storage
    // threads, where it would wait behind uploads if the storage hangs.
    asio::awaitable<void> drop(std::shared_ptr<Upload> upload) {
        auto work = [upload = std::move(upload)]() mutable {
            upload.reset();
            return true;
        };
        co_await run_apart(context_.workers.light, std::move(work));
    }

    asio::awaitable<void> write_continue() {
        static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
        error_code error;
        lowest().expires_after(write_timeout);
        co_await asio::async_write(stream_, asio::buffer(text),
                                   asio::redirect_error(asio::use_awaitable, error));
    }

    // ErrorKind::Vanished if the sender disconnected, Timeout if it is too slow, others from the
    // disk.
    asio::awaitable<Status> read_body(Upload& upload, std::uint64_t length_bytes,
                                      std::uint64_t& received_bytes) {
        const auto already = std::min<std::uint64_t>(length_bytes, buffer_.size());
        if (already > 0) {
            const Status written = upload.write(buffer_.data().data(), already);
            buffer_.consume(already);
            received_bytes = already;
            if (!written) co_return written;
        }
        const std::uint64_t rest_bytes = std::max<std::uint64_t>(length_bytes - received_bytes, 1);
        std::vector<char> chunk(std::min<std::uint64_t>(rest_bytes, body_chunk_bytes));
        const auto began = steady_clock::now();
        Counters& counters = context_.service.counters();
        counters.upload_bytes += already;
        while (received_bytes < length_bytes) {
            error_code error;
            lowest().expires_after(context_.options.body_timeout);
            const std::size_t got = co_await stream_.async_read_some(
                asio::buffer(chunk.data(),
                             std::min<std::uint64_t>(length_bytes - received_bytes, chunk.size())),
                asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return make_error(ErrorKind::Vanished, error.message());
            counters.upload_bytes += got;
            const Status written = upload.write(chunk.data(), got);
            received_bytes += got;
            if (!written) co_return written;
            if (too_slow(began, received_bytes)) {
                co_return make_error(ErrorKind::Timeout, "the upload is too slow");
            }
        }
        co_return success();
    }

    [[nodiscard]] bool too_slow(steady_clock::time_point began,
                                std::uint64_t received_bytes) const {
        const auto elapsed =
            std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - began);
        return elapsed > context_.options.body_timeout &&
               received_bytes < context_.options.slowest_bytes_per_second *
                                    static_cast<std::uint64_t>(elapsed.count());
    }

    // Refuses before or within a body of which `left` bytes are still to come (nullopt: as the
    // header says).
    asio::awaitable<bool> refuse(const Refusal& refusal,
                                 std::optional<std::uint64_t> left = std::nullopt) {
        const auto& message = parser_->get();
        const bool whole = parser_->is_header_done();
        const BodyOfRefused body = body_of_refused(
            {.header_came = whole,
             .chunked = parser_->chunked(),
             .asks_first = whole && message.find(http::field::expect) != message.end(),
             .body_read = body_read_,
             .length_bytes = whole ? parser_->content_length().value_or(0) : 0,
             .left_bytes = left});
        must_close_ = must_close_ || body.must_close;
        Reply reply = reply_of(refusal);
        const bool go_on = co_await write(std::move(reply));
        if (body.drain_bytes == 0) co_return go_on;
        const bool drained = co_await drain(body.drain_bytes);
        co_return go_on&& drained;
    }

    // Reads and discards so much of the body; true if it came.
    asio::awaitable<bool> drain(std::uint64_t left) {
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
        co_return true;
    }

    // nullopt: the connection ends with the reply.
    [[nodiscard]] std::optional<std::chrono::milliseconds> idle_limit(bool keep_alive) const {
        if (!keep_alive) return std::nullopt;
        return context_.options.header_timeout;
    }

    // False if the connection must end.
    asio::awaitable<bool> write(Reply reply) {
        const auto& message = parser_->get();
        const bool keep_alive = !must_close_ && !context_.stopping && message.keep_alive();
        const bool head = message.method() == http::verb::head;
        if (reply.status >= 400) ++context_.service.counters().refused_requests;
        error_code error;
        if (reply.source && !head) co_return co_await write_source(std::move(reply), keep_alive);
        lowest().expires_after(write_timeout);
        const bool empty = reply.status == 204 || reply.status == 304;
        if (head || empty) {
            http::response<http::empty_body> response(static_cast<http::status>(reply.status), 11);
            set_fields(response, reply, is_tls, idle_limit(keep_alive));
            if (reply.announced_bytes || !reply.source)
                if (!empty)
                    response.content_length(reply.announced_bytes.value_or(reply.body.size()));
            co_await http::async_write(stream_, response,
                                       asio::redirect_error(asio::use_awaitable, error));
        } else {
            http::response<http::string_body> response(static_cast<http::status>(reply.status), 11);
            set_fields(response, reply, is_tls, idle_limit(keep_alive));
            response.body() = std::move(reply.body);
            response.prepare_payload();
            co_await http::async_write(stream_, response,
                                       asio::redirect_error(asio::use_awaitable, error));
        }
        co_return !error && keep_alive;
    }

    asio::awaitable<bool> write_source(Reply reply, bool keep_alive) {
        http::response<http::buffer_body> response(static_cast<http::status>(reply.status), 11);
        set_fields(response, reply, is_tls, idle_limit(keep_alive));
        if (reply.announced_bytes) {
            response.content_length(*reply.announced_bytes);
        } else if (parser_->get().version() >= 11) {
            response.chunked(true);
        } else {
            // HTTP/1.0 marks the end of a body by closing the connection
            response.keep_alive(keep_alive = false);
        }
        response.body().data = nullptr;
        response.body().more = true;
        http::response_serializer<http::buffer_body> serializer(response);
        error_code error;
        lowest().expires_after(write_timeout);
        co_await http::async_write_header(stream_, serializer,
                                          asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return false;
        auto chunk = std::make_shared<std::vector<char>>(download_chunk_bytes);
        while (!serializer.is_done()) {
            auto work = [source = reply.source, chunk] {
                return source->read(chunk->data(), chunk->size());
            };
            const auto outcome = co_await run_apart(context_.workers.storage, std::move(work));
            // The status was sent long ago, so closing early is the only way to signal the error.
            if (!outcome || !*outcome) co_return false;
            const std::size_t got = outcome->value();
            response.body().data = got > 0 ? chunk->data() : nullptr;
            response.body().size = got;
            response.body().more = got > 0;
            // Restarts with each piece: a slow reader may go on, a stalled one is disconnected.
            lowest().expires_after(write_timeout);
            co_await http::async_write(stream_, serializer,
                                       asio::redirect_error(asio::use_awaitable, error));
            if (error == http::error::need_buffer) error = {};
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

    // Held because the server's certificate may be replaced while the connection lives.
    std::shared_ptr<asio::ssl::context> tls_;
    ConnectionContext& context_;
    Stream stream_;
    beast::flat_buffer buffer_{2 * header_limit_bytes};
    std::optional<Parser> parser_;
    bool idle_ = false;
    bool must_close_ = false;
    bool body_read_ = false;
    asio::ip::address peer_;
};

}  // namespace

std::shared_ptr<HttpConnection> make_connection(asio::ip::tcp::socket socket,
                                                std::shared_ptr<asio::ssl::context> tls,
                                                ConnectionContext& context) {
    if (!tls)
        return std::make_shared<HttpConnectionOver<beast::tcp_stream>>(nullptr, context,
                                                                       std::move(socket));
    auto& settings = *tls;
    return std::make_shared<HttpConnectionOver<beast::ssl_stream<beast::tcp_stream>>>(
        std::move(tls), context, std::move(socket), settings);
}

}  // namespace lagtrap::server
