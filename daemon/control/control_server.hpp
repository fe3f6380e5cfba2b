// The control socket: one request per connection, a JSON object and a newline each way; some
// answers are streams of many lines. The caller's user and groups decide what it may request
// (control_access.hpp). Limits per user keep a caller who floods, stalls or sends garbage from
// blocking others. Callers other than root may get a status up to 100 ms old, unless a request has
// changed something since.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/control/answer_stream.hpp"
#include "daemon/control/control_access.hpp"
#include "daemon/control/control_requests.hpp"
#include "daemon/control/kept_answer.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class ControlServer {
  public:
    using Now = std::function<KeptAnswer::TimePoint()>;

    struct Counts {
        std::uint64_t denied = 0;       // requests refused because of missing rights
        std::uint64_t turned_away = 0;  // connections beyond the limits
    };

    // Listens at the path in the settings, and creates its folder if necessary. Replaces a socket
    // that nobody listens on. `requests` must outlive the server.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> listen(
        boost::asio::io_context& context, const settings::Control& control,
        ControlRequests& requests, Now now = std::chrono::steady_clock::now);
    ~ControlServer();

    // Call the following on the io_context's thread.

    // Applies new rights to requests from now on. On error (the socket file cannot be changed), the
    // old rights stay.
    [[nodiscard]] Status change_access(ControlAccess access);
    [[nodiscard]] const ControlAccess& access() const { return access_; }
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    class Connection;
    ControlServer(boost::asio::io_context& context, std::string path, ControlAccess access,
                  ControlRequests& requests, Now now);
    [[nodiscard]] std::string answer_to(const Caller& caller, const boost::json::object& request);
    void accept();
    void take(boost::asio::local::stream_protocol::socket socket);
    [[nodiscard]] bool has_room_for(Party party) const;

    boost::asio::local::stream_protocol::acceptor acceptor_;
    boost::asio::steady_timer pause_;
    std::string path_;
    ControlAccess access_;
    ControlRequests& requests_;
    Now now_;
    KeptAnswer status_;
    std::map<Party, std::size_t> connections_;  // open now
    Counts counts_;
    // for connections that outlive the server; it points to null then
    std::shared_ptr<ControlServer*> self_;
};

// Returns {"ok":false,"error":message}.
[[nodiscard]] boost::json::object refusal(const std::string& message);

}  // namespace lagtrap::daemon
