#include "daemon/control_server.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>

#include "core/files.hpp"
#include "daemon/control_request.hpp"

namespace lagtrap::daemon {
namespace {

using boost::asio::local::stream_protocol;

constexpr std::size_t request_limit_bytes = 64 * 1024;
constexpr auto connection_time_limit = std::chrono::seconds(10);
constexpr std::size_t most_connections = 32;
std::size_t connections = 0;

// One connection; lives until its answer is written, the caller is gone, or its time is up.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(stream_protocol::socket socket, const ControlServer::Handler& handler)
        : socket_(std::move(socket)), timer_(socket_.get_executor()), handler_(handler) {
        ++connections;
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { --connections; }

    void serve() {
        timer_.expires_after(connection_time_limit);
        timer_.async_wait([weak = weak_from_this()](const auto& failure) {
            if (const auto self = weak.lock(); self && !failure) self->socket_.close();
        });
        boost::asio::async_read_until(socket_, boost::asio::dynamic_buffer(request_, request_limit_bytes), '\n',
                                      [self = shared_from_this()](const auto& failure, std::size_t bytes) {
                                          if (failure == boost::asio::error::not_found)
                                              return self->answer(refusal("the request is longer than 64 KiB"));
                                          if (failure) return self->timer_.cancel(), void();
                                          self->handle(bytes);
                                      });
    }

  private:
    void handle(std::size_t bytes) {
        const auto request = parse_control_request(std::string_view(request_).substr(0, bytes));
        answer(request ? handler_(*request) : refusal(request.error().message));
    }

    void answer(const boost::json::object& object) {
        answer_ = boost::json::serialize(object) + '\n';
        boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                                 [self = shared_from_this()](const auto&, std::size_t) { self->timer_.cancel(); });
    }

    stream_protocol::socket socket_;
    boost::asio::steady_timer timer_;
    const ControlServer::Handler& handler_;
    std::string request_;
    std::string answer_;
};

Status give_to_group(const std::string& path, const std::string& group) {
    if (group.empty()) return ::chmod(path.c_str(), 0600) == 0 ? success() : Status(system_error(path));
    struct group entry {};
    struct group* found = nullptr;
    std::array<char, 16384> buffer{};
    if (::getgrnam_r(group.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return make_error(ErrorKind::NotFound, "there is no group " + group + " for the control socket");
    if (::chown(path.c_str(), 0, found->gr_gid) != 0) return system_error("give " + path + " to group " + group);
    if (::chmod(path.c_str(), 0660) != 0) return system_error(path);
    return success();
}

// Whether somebody answers at the socket: then it is not ours to replace.
bool in_use(boost::asio::io_context& context, const std::string& path) {
    stream_protocol::socket probe(context);
    boost::system::error_code failure;
    probe.connect(stream_protocol::endpoint(path), failure);
    return !failure;
}

}  // namespace

boost::json::object refusal(const std::string& message) { return {{"ok", false}, {"error", message}}; }

ControlServer::ControlServer(boost::asio::io_context& context, std::string path, Handler handler)
    : acceptor_(context), path_(std::move(path)), handler_(std::move(handler)) {}

ControlServer::~ControlServer() { ::unlink(path_.c_str()); }

Result<std::unique_ptr<ControlServer>> ControlServer::listen(boost::asio::io_context& context, const std::string& path,
                                                             const std::string& group, Handler handler) {
    if (path.size() >= sizeof(sockaddr_un::sun_path))
        return make_error(ErrorKind::Invalid, "the control socket's path is longer than a socket's may be: " + path);
    TRY(make_directories(std::filesystem::path(path).parent_path()));
    if (in_use(context, path)) return make_error(ErrorKind::Busy, "another lagtrapd answers at " + path);
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) == 0) {
        if (!S_ISSOCK(facts.st_mode)) return make_error(ErrorKind::Invalid, path + " is there and no socket");
        ::unlink(path.c_str());
    }
    std::unique_ptr<ControlServer> server(new ControlServer(context, path, std::move(handler)));
    boost::system::error_code failure;
    server->acceptor_.open(stream_protocol(), failure);
    const mode_t mask_before = ::umask(0177);
    if (!failure) server->acceptor_.bind(stream_protocol::endpoint(path), failure);
    ::umask(mask_before);
    if (!failure) server->acceptor_.listen(16, failure);
    if (failure) return make_error(ErrorKind::System, "listen at " + path + ": " + failure.message());
    TRY(give_to_group(path, group));
    server->accept();
    return server;
}

void ControlServer::accept() {
    acceptor_.async_accept([this](const auto& failure, stream_protocol::socket socket) {
        if (failure == boost::asio::error::operation_aborted) return;
        if (!failure && connections < most_connections)
            std::make_shared<Connection>(std::move(socket), handler_)->serve();
        accept();
    });
}

}  // namespace lagtrap::daemon
