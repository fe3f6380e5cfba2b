#include "daemon/control/control_server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>

#include "core/files.hpp"
#include "core/unique_fd.hpp"
#include "daemon/control/control_request.hpp"

namespace lagtrap::daemon {
namespace {

using boost::asio::local::stream_protocol;

constexpr std::size_t request_limit_bytes = 64 * 1024;
constexpr auto connection_time_limit = std::chrono::seconds(10);
constexpr auto pause_after_failure = std::chrono::milliseconds(100);
constexpr std::size_t max_connections = 32;
constexpr std::size_t max_of_one_user = 8;
// Part of max_connections, so that root can always connect.
constexpr std::size_t kept_for_root = 8;

Status set_rights(const std::string& path, const ControlAccess& access) {
    if (::chown(path.c_str(), ::geteuid(), access.group().value_or(::getegid())) != 0)
        return system_error("give " + path + " to its group");
    if (::chmod(path.c_str(), access.socket_mode()) != 0) return system_error(path);
    return success();
}

// True if somebody listens at the socket. Then it must not be replaced.
bool in_use(boost::asio::io_context& context, const std::string& path) {
    stream_protocol::socket probe(context);
    boost::system::error_code failure;
    probe.connect(stream_protocol::endpoint(path), failure);
    return !failure;
}

// Empty if the request has no command.
std::string_view command_of(const boost::json::object& request) {
    const auto* const name = request.if_contains("command");
    return name != nullptr && name->is_string() ? std::string_view(name->as_string())
                                                : std::string_view();
}

}  // namespace

boost::json::object refusal(const std::string& message) {
    return {{"ok", false}, {"error", message}};
}

// One connection. It lives until its answer is written, the caller disconnects, or its time is up.
class ControlServer::Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(stream_protocol::socket socket, Caller caller,
               std::shared_ptr<ControlServer*> server)
        : socket_(std::move(socket)),
          timer_(socket_.get_executor()),
          caller_(std::move(caller)),
          server_(std::move(server)) {
        ++(*server_)->connections_[caller_.party];
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
        if (*server_ == nullptr) return;
        auto& connections = (*server_)->connections_;
        if (const auto own = connections.find(caller_.party);
            own != connections.end() && --own->second == 0)
            connections.erase(own);
    }

    void serve() {
        timer_.expires_after(connection_time_limit);
        timer_.async_wait([weak = weak_from_this()](const auto& failure) {
            if (const auto self = weak.lock(); self && !failure) self->socket_.close();
        });
        boost::asio::async_read_until(
            socket_, boost::asio::dynamic_buffer(request_, request_limit_bytes), '\n',
            [self = shared_from_this()](const auto& failure, std::size_t bytes) {
                if (failure == boost::asio::error::not_found)
                    return self->answer(refusal("the request is longer than 64 KiB"));
                if (failure) return self->timer_.cancel(), void();
                self->handle(bytes);
            });
    }

  private:
    void handle(std::size_t bytes) {
        if (*server_ == nullptr) return;
        ControlServer& server = **server_;
        const auto request = parse_control_request(std::string_view(request_).substr(0, bytes));
        if (!request) return answer(refusal(request.error().message));
        const auto grant = server.access_.grant(caller_, command_of(*request));
        if (!grant) {
            ++server.counts_.denied;
            return answer(refusal(grant.error().message));
        }
        const auto handed_over = hand_over(server, *request);
        if (!handed_over) return answer(refusal(handed_over.error().message));
        if (*handed_over) return;
        const auto streams =
            stream(server, *request, grant->own_processes_only ? &caller_ : nullptr);
        if (!streams) {
            if (streams.error().kind == ErrorKind::Denied) ++server.counts_.denied;
            return answer(refusal(streams.error().message));
        }
        if (!*streams) answer(server.answer_to(caller_, *request));
    }

    // Passes the connection to another process. False if this request is not one for that.
    Result<bool> hand_over(ControlServer& server, const boost::json::object& request) {
        auto taken = server.requests_.hand_over(request, caller_, socket_.native_handle());
        if (!taken || !*taken) return taken;
        timer_.cancel();
        // Plain closing would leave it registered for events, because the other process has it
        // open.
        boost::system::error_code ignored;
        const UniqueFd closing(socket_.release(ignored));
        return taken;
    }

    // Starts a streamed answer. False if this request has none.
    Result<bool> stream(ControlServer& server, const boost::json::object& request,
                        const Caller* only_of) {
        const auto on_lines = [weak = weak_from_this(), executor = socket_.get_executor()] {
            boost::asio::post(executor, [weak] {
                if (const auto alive = weak.lock()) alive->send_lines();
            });
        };
        stream_ = std::make_shared<AnswerStream>(on_lines, StreamClient{caller_.pid, caller_.uid});
        auto taken = server.requests_.stream(request, only_of, stream_);
        if (!taken || !*taken) {
            stream_.reset();
            return taken;
        }
        timer_.cancel();
        await_end();
        return taken;
    }

    // Any further input from the client means that it wants only the end of the answer; end of
    // file, that it has disconnected. Keeps the connection alive until then.
    void await_end() {
        socket_.async_read_some(boost::asio::buffer(unwanted_),
                                [self = shared_from_this()](const auto& failure, std::size_t) {
                                    if (failure) return self->leave();
                                    if (self->stream_) self->stream_->note_enough();
                                    self->await_end();
                                });
    }

    void leave() {
        if (stream_) stream_->note_gone();
        boost::system::error_code ignored;
        socket_.close(ignored);
    }

    void send_lines() {
        if (sending_ || !stream_) return;
        answer_ = stream_->take();
        if (answer_.empty()) {
            if (stream_->ended()) leave();
            return;
        }
        sending_ = true;
        boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                                 [self = shared_from_this()](const auto& failure, std::size_t) {
                                     self->sending_ = false;
                                     if (failure) return self->leave();
                                     self->send_lines();
                                 });
    }

    void answer(const boost::json::object& object) { answer(boost::json::serialize(object)); }

    void answer(const std::string& text) {
        answer_ = text + '\n';
        boost::asio::async_write(
            socket_, boost::asio::buffer(answer_),
            [self = shared_from_this()](const auto&, std::size_t) { self->timer_.cancel(); });
    }

    stream_protocol::socket socket_;
    boost::asio::steady_timer timer_;
    Caller caller_;
    std::shared_ptr<ControlServer*> server_;  // points to null once the server is gone
    std::string request_;
    std::string answer_;
    std::shared_ptr<AnswerStream> stream_;  // set while an answer is streamed
    bool sending_ = false;
    std::array<char, 256> unwanted_{};
};

ControlServer::ControlServer(boost::asio::io_context& context, std::string path,
                             ControlAccess access, ControlRequests& requests, Now now)
    : acceptor_(context),
      pause_(context),
      path_(std::move(path)),
      access_(std::move(access)),
      requests_(requests),
      now_(std::move(now)),
      self_(std::make_shared<ControlServer*>(this)) {}

ControlServer::~ControlServer() {
    *self_ = nullptr;
    ::unlink(path_.c_str());
}

Result<std::unique_ptr<ControlServer>> ControlServer::listen(boost::asio::io_context& context,
                                                             const settings::Control& control,
                                                             ControlRequests& requests, Now now) {
    const std::string& path = control.socket;
    if (path.size() >= sizeof(sockaddr_un::sun_path))
        return make_error(ErrorKind::Invalid,
                          "the path of the control socket is too long: " + path);
    TRY_ASSIGN(ControlAccess access, ControlAccess::create(control));
    TRY(make_directories(std::filesystem::path(path).parent_path()));
    if (in_use(context, path))
        return make_error(ErrorKind::Busy, "another lagtrapd listens at " + path);
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) == 0) {
        if (!S_ISSOCK(facts.st_mode))
            return make_error(ErrorKind::Invalid, path + " is not a socket");
        ::unlink(path.c_str());
    }
    std::unique_ptr<ControlServer> server(
        new ControlServer(context, path, std::move(access), requests, std::move(now)));
    boost::system::error_code failure;
    server->acceptor_.open(stream_protocol(), failure);
    const mode_t mask_before = ::umask(0177);
    if (!failure) server->acceptor_.bind(stream_protocol::endpoint(path), failure);
    ::umask(mask_before);
    if (!failure) server->acceptor_.listen(16, failure);
    if (failure)
        return make_error(ErrorKind::System, "listen at " + path + ": " + failure.message());
    TRY(set_rights(path, server->access_));
    server->accept();
    return server;
}

// Root gets a current answer, because its scripts compare consecutive statuses.
std::string ControlServer::answer_to(const Caller& caller, const boost::json::object& request) {
    const bool is_status = command_of(request) == "status";
    const std::string* const kept =
        is_status && caller.party != root_party ? status_.at(now_()) : nullptr;
    if (kept != nullptr) return *kept;
    std::string made = boost::json::serialize(requests_.answer(request));
    if (is_status) {
        status_.keep(made, now_());
    } else {
        status_.forget();
    }
    return made;
}

Status ControlServer::change_access(ControlAccess access) {
    if (Status set = set_rights(path_, access); !set) {
        (void)set_rights(path_, access_);
        return set;
    }
    access_ = std::move(access);
    status_.forget();
    return success();
}

bool ControlServer::has_room_for(Party party) const {
    std::size_t all = 0;
    for (const auto& [user, count] : connections_) all += count;
    if (party == root_party) return all < max_connections;
    const auto own = connections_.find(party);
    return all < max_connections - kept_for_root &&
           (own == connections_.end() || own->second < max_of_one_user);
}

void ControlServer::take(stream_protocol::socket socket) {
    auto caller = caller_at(socket.native_handle());
    if (caller && has_room_for(caller->party))
        return std::make_shared<Connection>(std::move(socket), std::move(caller).value(), self_)
            ->serve();
    ++counts_.turned_away;
    // A new connection has room for this text. If it cannot be sent, it is dropped.
    const std::string text =
        boost::json::serialize(refusal("too many connections at once; try again later")) + '\n';
    (void)::send(socket.native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void ControlServer::accept() {
    acceptor_.async_accept([this](const auto& failure, stream_protocol::socket socket) {
        if (failure == boost::asio::error::operation_aborted) return;
        if (!failure) {
            take(std::move(socket));
            return accept();
        }
        // For example, no descriptors are left. An immediate retry would fail too.
        pause_.expires_after(pause_after_failure);
        pause_.async_wait([this](const auto& aborted) {
            if (!aborted) accept();
        });
    });
}

}  // namespace lagtrap::daemon
