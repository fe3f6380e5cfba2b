// The control socket: one request per connection, a JSON object and a newline each way; some answers go on for many lines. Who may ask what is settled by
// the caller's user (control_access.hpp); one who floods, stalls or sends garbage takes places from nobody else. To all but
// root a status is told that is up to 100 ms old, unless a request has changed something meanwhile.
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
#include "daemon/control/kept_answer.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class ControlServer {
  public:
    // Answers a request; called on the io_context's thread.
    using Handler = std::function<boost::json::object(const boost::json::object& request)>;
    // Takes a request whose answer goes on, if it is one: false, and Handler answers it. `only_of`: the caller, if the
    // caller may trace only processes of their own. Called on the io_context's thread; the stream is written from any.
    // Errors: refused.
    using Streamer = std::function<Result<bool>(const boost::json::object& request, const Caller* only_of,
                                                std::shared_ptr<AnswerStream> answer)>;
    using Now = std::function<KeptAnswer::TimePoint()>;

    struct Counts {
        std::uint64_t denied = 0;       // requests, by the caller's user
        std::uint64_t turned_away = 0;  // connections, beyond the limits
    };

    // Listens at the settings' path (replacing a socket that nobody listens on any more). The folder of it is made if it
    // is missing.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> listen(boost::asio::io_context& context,
                                                                       const settings::Control& control,
                                                                       Handler handler,
                                                                       Now now = std::chrono::steady_clock::now);
    ~ControlServer();

    // The following on the io_context's thread.

    void stream_by(Streamer streamer) { streamer_ = std::move(streamer); }

    // From now on callers have these rights; requests that are answered already stay so. Errors: the socket's file does
    // not take them, and the rights are as they were.
    [[nodiscard]] Status change_access(ControlAccess access);
    [[nodiscard]] const ControlAccess& access() const { return access_; }
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    class Connection;
    ControlServer(boost::asio::io_context& context, std::string path, ControlAccess access, Handler handler, Now now);
    [[nodiscard]] std::string answer_to(const Caller& caller, const boost::json::object& request);
    void accept();
    void take(boost::asio::local::stream_protocol::socket socket);
    [[nodiscard]] bool has_room_for(Party party) const;

    boost::asio::local::stream_protocol::acceptor acceptor_;
    boost::asio::steady_timer pause_;
    std::string path_;
    ControlAccess access_;
    Handler handler_;
    Streamer streamer_;
    Now now_;
    KeptAnswer status_;
    std::map<Party, std::size_t> connections_;  // now
    Counts counts_;
    std::shared_ptr<ControlServer*> self_;  // for connections that outlive it; nullptr in it then
};

// {"ok":false,"error":message}
[[nodiscard]] boost::json::object refusal(const std::string& message);

}  // namespace lagtrap::daemon
