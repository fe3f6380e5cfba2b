// The control socket: one request per connection, a JSON object and a newline each way. Who may connect is
// settled by the socket file's owner and mode.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

class ControlServer {
  public:
    // Answers a request; called on the io_context's thread.
    using Handler = std::function<boost::json::object(const boost::json::object& request)>;

    // Listens at `path` (replacing a socket that nobody listens on any more), owned by root and `group`
    // (empty: root alone). The folder of `path` is made if it is missing.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> listen(boost::asio::io_context& context,
                                                                       const std::string& path,
                                                                       const std::string& group, Handler handler);
    ~ControlServer();

  private:
    ControlServer(boost::asio::io_context& context, std::string path, Handler handler);
    void accept();

    boost::asio::local::stream_protocol::acceptor acceptor_;
    std::string path_;
    Handler handler_;
};

// {"ok":false,"error":message}
[[nodiscard]] boost::json::object refusal(const std::string& message);

}  // namespace lagtrap::daemon
